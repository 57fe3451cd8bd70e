/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_CONTROL_PRIVATE_H
#define TARE_SWITCH_CONTROL_PRIVATE_H

#include "base/arena.h"
#include "base/vec.h"
#include "control/bytes.h"
#include "control/control.h"
#include "control/names.h"
#include "grpc/server.h"
#include "proto/p4runtime.pb-c.h"
#include "tables/change.h"

/* For the implementers of control.h. */

/* --- what a request, or one update of it, came to --- */

struct verdict {
	int code; /* enum grpc_status */
	char message[256];
};

/* -1, so that a failing function can end with `return verdict(...)`. */
int verdict(struct verdict *v, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* What tables/ say (-errno and a message), in the words of gRPC. 0 stays 0. */
int verdict_of(struct verdict *v, int rc, const struct err *err);

/* The verdicts of a batch as a packed google.rpc.Status with a p4.Error each, cut to `limit_bytes`; 0: no room. */
size_t verdicts_pack(const struct verdict *verdicts, size_t count, const char *message, uint8_t *buf,
		     size_t limit_bytes);

/* --- memory of one request: dropped together, capped --- */

struct pool {
	uint8_t *block;
	size_t used_bytes, size_bytes;
	struct arena spill;
	ProtobufCAllocator allocator;
};

int pool_init(struct pool *pool);
void pool_release(struct pool *pool);
void pool_reset(struct pool *pool);
void *pool_alloc(struct pool *pool, size_t size_bytes); /* not zeroed; NULL: over the cap */
void *pool_array(struct pool *pool, size_t count, size_t size_bytes);
void *pool_pointers(struct pool *pool, size_t count); /* an array of them, NULL each */

/* --- a program with its state and its names --- */

struct digest_config {
	bool wanted;
	int64_t max_timeout_ns, ack_timeout_ns;
	int32_t max_list_size;
};

struct pipeline {
	struct program *program;
	struct state *state;
	struct names *names; /* NULL: from the command line, nobody can name anything */
	uint8_t *p4info, *device_config;
	size_t p4info_bytes, device_config_bytes;
	bool has_cookie;
	uint64_t cookie;
	struct digest_config *digests; /* by learn list */
};

/* From a ForwardingPipelineConfig. */
int pipeline_create(struct control *c, const P4__V1__ForwardingPipelineConfig *config, struct pipeline **ret_pipeline,
		    struct verdict *v);
void pipeline_destroy(void *pipeline); /* NULL is fine */

/* reconcile.c: all that `from` holds into the fresh `to`; -1: something of it has no place there. */
int reconcile(struct control *c, struct pipeline *from, struct pipeline *to, struct verdict *v);

/* --- controllers --- */

struct role {
	char *name;
	uint64_t id;
	bool has_past; /* some controller was primary once */
	uint64_t past_high, past_low;
	struct client *primary;
};

struct client {
	struct client *next, **previous;
	struct grpc_call *call;
	struct role *role; /* NULL: has not asked to be anything */
	bool has_election;
	uint64_t high, low;
};

enum { ROLES_MOST = 64, CLIENTS_MOST = 1024, STREAM_QUEUE_BYTES = 4 << 20 };

struct control {
	struct loop *loop;
	struct control_config config;
	struct grpc_server *server;
	struct pipeline *running;
	struct pipeline *saved; /* verified and saved, not committed: what Read and Write mean */
	struct client *clients;
	unsigned client_count;
	struct role roles[ROLES_MOST];
	unsigned role_count;
	uint64_t next_list_id;
	struct pool pool;
	struct loop_timer collect;            /* what no request follows to free */
	struct loop_timer idle;               /* scans for idle entries */
	struct late_write *late, **late_tail; /* answered, not carried out yet, in their order */
	struct loop_timer late_due;
	struct control_counters counters;
};

/* stream.c: "device, role, election id": may this request change anything? */
int stream_check_primary(const struct control *c, uint64_t device_id, const char *role, uint64_t role_id,
			 const P4__V1__Uint128 *election, struct verdict *v);
void stream_opened(struct grpc_call *call);
void stream_message(struct grpc_call *call, const uint8_t *data, size_t length);
void stream_half_closed(struct grpc_call *call);
void stream_closed(struct grpc_call *call);

int check_device(const struct control *c, uint64_t device_id, struct verdict *v);
struct pipeline *current_pipeline(struct control *c); /* that Read and Write mean; NULL: none */

/* Frees what may be freed; between requests. */
void control_collect(struct control *c);

/* idle.c: what runs has changed */
void idle_begin(struct control *c);

/* packet.c */
bool send_to_primaries(struct control *c, const P4__V1__StreamMessageResponse *message);
void packet_out_message(struct control *c, struct client *client, const P4__V1__PacketOut *packet);
void digest_ack_message(struct control *c, struct client *client, const P4__V1__DigestListAck *ack);

/* Queue a message of the stream; false: the client takes too little, or is gone. */
bool client_send(struct client *client, const P4__V1__StreamMessageResponse *message);

void write_message(struct grpc_call *call, const uint8_t *data, size_t length);
void write_forget_late(struct control *c); /* Writes that are still to be carried out */
void read_message(struct grpc_call *call, const uint8_t *data, size_t length);
void set_pipeline_message(struct grpc_call *call, const uint8_t *data, size_t length);
void get_pipeline_message(struct grpc_call *call, const uint8_t *data, size_t length);

/* One packed answer. */
void answer(struct grpc_call *call, const ProtobufCMessage *message);
void answer_verdict(struct grpc_call *call, const struct verdict *v);

/* --- undo: what brings back how it was; run newest first, while nothing is freed --- */

struct undo {
	void (*run)(struct pipeline *p, const struct undo *u);
	const void *old; /* an entry, member data, ... that was there */
	const void *new; /* an entry that is there now */
	uint32_t index, id, count;
	uint64_t cell;
	bool has_counts, has_meter;
	struct counts counts;
	struct meter_rates rates;
	void *copy; /* the log's memory */
};

struct undo_log {
	VEC(struct undo) items;
};

/* NULL log: nothing is written down. -1: no memory, and nothing must be changed then. */
int undo_push(struct undo_log *log, const struct undo *u, struct verdict *v);

/* --- entities --- */

struct update {
	struct control *control;
	struct pipeline *p;
	struct pool *pool;
	P4__V1__Update__Type type;
	struct undo_log *log; /* or NULL */
	struct verdict *v;
};

int update_table_entry(struct update *u, const P4__V1__TableEntry *e);
int update_direct_counter(struct update *u, const P4__V1__DirectCounterEntry *e);
int update_direct_meter(struct update *u, const P4__V1__DirectMeterEntry *e);
int update_member(struct update *u, const P4__V1__ActionProfileMember *m);
int update_group(struct update *u, const P4__V1__ActionProfileGroup *g);
int update_counter(struct update *u, const P4__V1__CounterEntry *e);
int update_meter(struct update *u, const P4__V1__MeterEntry *e);
int update_register(struct update *u, const P4__V1__RegisterEntry *e);
int update_replication(struct update *u, const P4__V1__PacketReplicationEngineEntry *e);
int update_value_set(struct update *u, const P4__V1__ValueSetEntry *e);
int update_digest(struct update *u, const P4__V1__DigestEntry *e);

/* A match's key as tables/ take it. `words` of each of value and mask: the table's key_words. */
struct key {
	uint64_t value[TABLE_KEY_WORDS_MOST], mask[TABLE_KEY_WORDS_MOST];
	struct match_spec spec;
};

/* decode.c */
int decode_key(const struct pipeline *p, uint32_t table, const P4__V1__TableEntry *e, struct key *ret_key,
	       struct verdict *v);
/* One field of a key or of a value set's member. */
int decode_field(const P4__V1__FieldMatch *f, const char *where, enum match_kind kind, uint32_t bits, uint64_t *value,
		 uint64_t *mask, uint32_t *prefix_bits, struct verdict *v);
int decode_action(struct pool *pool, const struct pipeline *p, uint32_t table, const P4__V1__Action *a, bool is_default,
		  struct choice *ret_choice, struct verdict *v);
int decode_rates(const P4__V1__MeterConfig *c, struct meter_rates *ret_rates, struct verdict *v);
int decode_port(const ProtobufCBinaryData *bytes, uint32_t *ret_port, struct verdict *v);

/* encode.c: into the pool; NULL: no memory */
P4__V1__TableEntry *encode_table_entry(struct pool *pool, const struct pipeline *p, const struct entry *e);
P4__V1__Action *encode_action(struct pool *pool, const struct pipeline *p, uint32_t table, const struct action_data *a);
P4__V1__MeterConfig *encode_rates(struct pool *pool, const struct meter_rates *rates);
P4__V1__CounterData *encode_counts(struct pool *pool, const struct counts *counts);
P4__V1__FieldMatch *encode_field(struct pool *pool, uint32_t id, enum match_kind kind, uint32_t bits,
				 const uint64_t *value, const uint64_t *mask, uint32_t prefix_bits,
				 bool *ret_dont_care);
int encode_value(struct pool *pool, const uint64_t *words, uint32_t bits, bool is_signed, ProtobufCBinaryData *ret);

#define POOL_NEW(pool, TYPE, INIT)                                                                                     \
	__extension__({                                                                                                \
		TYPE *new_ = pool_alloc(pool, sizeof(TYPE));                                                           \
		if (new_ != NULL)                                                                                      \
			*new_ = (TYPE)INIT;                                                                            \
		new_;                                                                                                  \
	})

#endif
