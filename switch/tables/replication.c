/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "tables/state_private.h"

/* Multicast groups, clone sessions and value sets: whole objects, swapped. */

static struct hash_walk first_of(const struct replications *r, uint32_t id)
{
	uint64_t word = id;

	return hash_first(&r->by_id, hash_words(&word, 1));
}

static const struct replication *lookup(const struct replications *r, uint32_t id)
{
	struct hash_walk walk = first_of(r, id);

	while (walk.link != NULL && ((const struct replication *)walk.link)->id != id)
		hash_step(&walk);
	return (const struct replication *)walk.link;
}

const struct replicas *multicast_group(const struct state *state, uint32_t id)
{
	const struct replication *r = lookup(&state->multicast, id);

	return r == NULL ? NULL : r->session.replicas;
}

const struct clone_session *clone_session(const struct state *state, uint32_t id)
{
	const struct replication *r = lookup(&state->clones, id);

	return r == NULL ? NULL : &r->session;
}

/* --- the writer --- */

static struct replication *make(uint32_t id, const struct replica *replicas, uint32_t count)
{
	struct replication *r = calloc(1, sizeof(*r) + sizeof(struct replicas) + count * sizeof(*replicas));
	struct replicas *own;
	uint64_t word = id;

	if (r == NULL)
		return NULL;
	r->id = id;
	r->link.hash = hash_words(&word, 1);
	own = (struct replicas *)(r + 1);
	own->count = count;
	if (count > 0)
		memcpy(own->items, replicas, count * sizeof(*replicas));
	r->session.replicas = own;
	return r;
}

static struct hash_place place_of(struct replications *all, const struct replication *r)
{
	struct hash_place place = hash_place_first(&all->by_id, r->link.hash);

	while (place.link != NULL && ((const struct replication *)place.link)->id != r->id)
		hash_place_step(&place);
	return place;
}

static int insert(struct state *state, struct replications *all, struct replication *r, const char *what,
		  struct err *err)
{
	if (r != NULL && place_of(all, r).link != NULL) {
		int rc = err_set(err, ERR_USAGE, EEXIST, "%s %u is there already", what, r->id);

		free(r);
		return rc;
	}
	if (r == NULL || vec_push(&all->items, r) < 0) {
		free(r);
		return err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", what);
	}
	r->index = (uint32_t)all->items.count - 1;
	hash_insert(&all->by_id, hash_place_first(&all->by_id, r->link.hash), &r->link);
	hash_grow(&all->by_id, state->quiesce);
	return 0;
}

static int none(const char *what, uint32_t id, struct err *err)
{
	return err_set(err, ERR_USAGE, ENOENT, "there is no %s %u", what, id);
}

static int modify(struct state *state, struct replications *all, struct replication *r, uint32_t id, const char *what,
		  struct err *err)
{
	struct hash_place place;
	struct replication *old;

	if (r == NULL)
		return err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", what);
	place = place_of(all, r);
	old = (struct replication *)place.link;
	if (old == NULL) {
		free(r);
		return none(what, id, err);
	}
	r->index = old->index;
	all->items.items[r->index] = r;
	hash_replace(place, &r->link);
	quiesce_retire(state->quiesce, old, sizeof(*old), free);
	return 0;
}

static int delete (struct state *state, struct replications *all, uint32_t id, const char *what, struct err *err)
{
	struct replication *old = (struct replication *)lookup(all, id);

	if (old == NULL)
		return none(what, id, err);
	hash_remove(&all->by_id, place_of(all, old));
	all->items.items[old->index] = all->items.items[--all->items.count];
	all->items.items[old->index]->index = old->index;
	quiesce_retire(state->quiesce, old, sizeof(*old), free);
	return 0;
}

static const char group_word[] = "multicast group", session_word[] = "clone session";

int multicast_insert(struct state *state, uint32_t id, const struct replica *replicas, uint32_t count, struct err *err)
{
	return insert(state, &state->multicast, make(id, replicas, count), group_word, err);
}

int multicast_modify(struct state *state, uint32_t id, const struct replica *replicas, uint32_t count, struct err *err)
{
	return modify(state, &state->multicast, make(id, replicas, count), id, group_word, err);
}

int multicast_delete(struct state *state, uint32_t id, struct err *err)
{
	return delete (state, &state->multicast, id, group_word, err);
}

uint32_t multicast_count(const struct state *state)
{
	return (uint32_t)state->multicast.items.count;
}

uint32_t multicast_id(const struct state *state, uint32_t index)
{
	return state->multicast.items.items[index]->id;
}

static struct replication *make_session(uint32_t id, const struct clone_session *session)
{
	struct replication *r = make(id, session->replicas->items, session->replicas->count);

	if (r != NULL) {
		r->session.class_of_service = session->class_of_service;
		r->session.length_bytes = session->length_bytes;
	}
	return r;
}

int clone_insert(struct state *state, uint32_t id, const struct clone_session *session, struct err *err)
{
	return insert(state, &state->clones, make_session(id, session), session_word, err);
}

int clone_modify(struct state *state, uint32_t id, const struct clone_session *session, struct err *err)
{
	return modify(state, &state->clones, make_session(id, session), id, session_word, err);
}

int clone_delete(struct state *state, uint32_t id, struct err *err)
{
	return delete (state, &state->clones, id, session_word, err);
}

uint32_t clone_count(const struct state *state)
{
	return (uint32_t)state->clones.items.count;
}

uint32_t clone_id(const struct state *state, uint32_t index)
{
	return state->clones.items.items[index]->id;
}

int replications_init(struct replications *r)
{
	return hash_init(&r->by_id, 0);
}

void replications_release(struct replications *r)
{
	for (size_t i = 0; i < r->items.count; i++)
		free(r->items.items[i]);
	free(r->items.items);
	hash_release(&r->by_id);
}

/* --- value sets --- */

bool value_set_has(const struct state *state, uint32_t set, const uint64_t *key)
{
	const struct value_set_view *view = atomic_load_explicit(&state->value_sets[set], memory_order_acquire);

	for (uint32_t i = 0; view != NULL && i < view->count; i++) {
		const uint64_t *value = view->items + (size_t)i * 2 * view->words, *mask = value + view->words;
		uint64_t differ = 0;

		for (uint32_t w = 0; w < view->words; w++)
			differ |= (key[w] ^ value[w]) & mask[w];
		if (differ == 0)
			return true;
	}
	return false;
}

int value_set_set(struct state *state, uint32_t set, const uint64_t *items, uint32_t count, struct err *err)
{
	uint32_t select = state->program->value_sets[set].select;
	uint32_t words = select == NOWHERE ? 0 : state->program->selects[select].words;
	size_t bytes = (size_t)count * 2 * words * sizeof(*items);
	struct value_set_view *view = NULL, *old = atomic_load_explicit(&state->value_sets[set], memory_order_relaxed);

	if (count > 0) {
		view = malloc(sizeof(*view) + bytes);
		if (view == NULL)
			return err_set(err, ERR_HOST, ENOMEM, "value set %s: out of memory",
				       state->program->value_sets[set].name);
		view->count = count;
		view->words = words;
		memcpy(view->items, items, bytes);
	}
	atomic_store_explicit(&state->value_sets[set], view, memory_order_release);
	quiesce_retire(state->quiesce, old, sizeof(*old), free);
	return 0;
}

const struct value_set_view *value_set_get(const struct state *state, uint32_t set)
{
	return atomic_load_explicit(&state->value_sets[set], memory_order_relaxed);
}
