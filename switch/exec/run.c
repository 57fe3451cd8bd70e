/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "exec/bits.h"
#include "exec/exec_private.h"
#include "exec/wide.h"

/* The loop over instructions. Long for the reason that it is a table: one case an instruction. */

static void load_at(const struct insn *insn, uint64_t *m)
{
	uint64_t index = m[insn->b];
	uint32_t stride = insn[1].a, count = insn[1].b;

	for (uint32_t i = 0; i < insn->n; i++)
		m[insn->d + i] = index < count ? m[insn->a + index * stride + i] : 0;
}

static void store_at(const struct insn *insn, uint64_t *m)
{
	uint64_t index = m[insn->b];
	uint32_t stride = insn[1].a, count = insn[1].b;

	if (index < count)
		memcpy(m + insn->d + index * stride, m + insn->a, insn->n * sizeof(*m));
}

static void header_at(const struct program *p, struct packet *packet, const struct insn *insn)
{
	const struct p4_stack *s = &p->stacks[insn->d];
	uint64_t index = packet->memory[insn->a];
	uint32_t header;

	if (index >= s->count)
		return;
	header = s->first_header + (uint32_t)index;
	switch ((enum header_at)insn->n) {
	case HEADER_AT_ADD:
		header_add(packet, p, header);
		break;
	case HEADER_AT_REMOVE:
		header_remove(packet, p, header);
		break;
	case HEADER_AT_COPY_FROM:
		header_copy(p, packet->memory, insn->b, header);
		break;
	case HEADER_AT_COPY_TO:
		header_copy(p, packet->memory, header, insn->b);
		break;
	}
}

/* extract(stack.next), of headers or of a union's member */
static bool extract_next(const struct program *p, struct packet *packet, const struct insn *insn, bool of_union)
{
	const struct p4_stack *s = &p->stacks[insn->d];
	uint64_t *m = packet->memory;
	uint64_t variable = insn->a == NOWHERE ? 0 : m[insn->a];
	uint32_t header;

	if (m[s->next_slot] >= s->count) {
		packet->parser_error = p->errors.stack_out_of_bounds;
		return false;
	}
	header = of_union ? p->unions[s->unions[m[s->next_slot]]].headers[insn->b]
			  : s->first_header + (uint32_t)m[s->next_slot];
	if (!parse_extract(p, packet, header, variable))
		return false;
	m[s->next_slot]++;
	return true;
}

static void last_field(const struct program *p, const struct insn *insn, uint64_t *m)
{
	const struct p4_stack *s = &p->stacks[insn->b];
	const struct p4_header *h = &p->headers[s->first_header];
	uint64_t next = m[s->next_slot];

	for (uint32_t i = 0; i < insn->n; i++)
		m[insn->d + i] = next ? m[h->slot + (next - 1) * h->slots + insn->a + i] : 0;
}

static uint64_t valid_union(const struct program *p, const uint64_t *m, uint32_t index)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < p->unions[index].header_count; i++)
		any |= m[p->headers[p->unions[index].headers[i]].slot];
	return any;
}

static uint64_t saturate(uint64_t value, uint32_t bits, bool is_signed)
{
	int64_t v = (int64_t)value;
	int64_t high = (int64_t)mask_bits(is_signed ? bits - 1 : bits), low = is_signed ? -high - 1 : 0;

	return (uint64_t)(v < low ? low : v > high ? high : v);
}

/* Apply a table: run the action it finds, and say where the control goes on. */
static enum run_end apply(struct exec *x, struct packet *packet, uint32_t table, uint32_t *at, uint32_t *steps)
{
	const struct program *p = x->program;
	const struct p4_table *t = &p->tables[table];
	const struct action_data *data;
	const struct entry *entry;
	enum run_end end = RUN_DONE;
	uint64_t hash = 0;
	bool hit;

	entry = table_lookup(x->state, table, packet->memory, &hit);
	if (entry_wants_hash(entry) && p->profiles[t->profile].calculation != NOWHERE)
		hash = exec_hash(x, packet, p->profiles[t->profile].calculation);
	data = entry_action(entry, hash);
	if (t->with_counters)
		entry_count_packet(x->state, entry, packet->packet_length);
	if (t->meter != NOWHERE)
		packet->memory[p->meters[t->meter].result] =
			entry_meter_packet(x->state, entry, packet->packet_length, x->now_us) &
			mask_bits(p->meters[t->meter].result_bits);
	if (t->with_timeout && hit)
		entry_touch(entry, x->now_us);
	*at = t->by_hit ? (hit ? t->next_hit : t->next_miss) : t->base_next;
	if (data->action == NOWHERE)
		return RUN_DONE;
	if (!t->by_hit)
		for (uint32_t i = 0; i < t->action_count; i++)
			if (t->actions[i] == data->action) {
				*at = t->next[i];
				break;
			}
	for (uint32_t i = 0; i < data->param_slots; i++)
		packet->memory[p->params_slot + i] = data->params[i];
	if (p->code[p->actions[data->action].code].op != OP_RETURN)
		end = exec_run(x, packet, p->actions[data->action].code, steps);
	return end;
}

static void drop(const struct exec *x, uint64_t *m)
{
	m[x->program->standard.egress_spec] = x->drop_port;
	if (x->program->standard.mcast_grp != NOWHERE)
		m[x->program->standard.mcast_grp] = 0;
}

static uint64_t hash_between(struct exec *x, const struct packet *packet, const struct insn *insn)
{
	uint64_t base = packet->memory[insn->b], size = packet->memory[insn->b + 1];

	return base + exec_hash(x, packet, insn->a) % (size ? size : 1);
}

static void random_between(struct exec *x, const struct insn *insn, uint64_t *m)
{
	uint64_t low = m[insn->a], high = m[insn->b];

	if (low > high)
		return; /* unspecified; BMv2 leaves the field alone */
	m[insn->d] = high - low == UINT64_MAX ? rng_u64(&x->rng) : low + rng_below(&x->rng, high - low + 1);
}

static void log_message(const struct exec *x, uint32_t message, const uint64_t *m)
{
	if (x->log)
		x->log(x->log_context, &x->program->messages[message], m);
}

enum run_end exec_run(struct exec *x, struct packet *packet, uint32_t at, uint32_t *steps)
{
	const struct program *p = x->program;
	uint64_t *const m = packet->memory;
	const struct insn *insn;
	enum run_end end;

	for (;;) {
		insn = &p->code[at++];
		switch ((enum op)insn->op) {
		case OP_MOVE:
			m[insn->d] = m[insn->a];
			break;
		case OP_ADD:
			m[insn->d] = m[insn->a] + m[insn->b];
			break;
		case OP_SUB:
			m[insn->d] = m[insn->a] - m[insn->b];
			break;
		case OP_MUL:
			m[insn->d] = m[insn->a] * m[insn->b];
			break;
		case OP_DIV:
			m[insn->d] = m[insn->b] ? m[insn->a] / m[insn->b] : 0;
			break;
		case OP_MOD:
			m[insn->d] = m[insn->b] ? m[insn->a] % m[insn->b] : 0;
			break;
		case OP_AND:
			m[insn->d] = m[insn->a] & m[insn->b];
			break;
		case OP_OR:
			m[insn->d] = m[insn->a] | m[insn->b];
			break;
		case OP_XOR:
			m[insn->d] = m[insn->a] ^ m[insn->b];
			break;
		case OP_NOT:
			m[insn->d] = ~m[insn->a];
			break;
		case OP_SHL:
			m[insn->d] = m[insn->b] < 64 ? m[insn->a] << m[insn->b] : 0;
			break;
		case OP_SHR:
			m[insn->d] = m[insn->b] < 64 ? m[insn->a] >> m[insn->b] : 0;
			break;
		case OP_SAR:
			m[insn->d] = (uint64_t)((int64_t)m[insn->a] >> (m[insn->b] < 64 ? m[insn->b] : 63));
			break;
		case OP_EQ:
			m[insn->d] = m[insn->a] == m[insn->b];
			break;
		case OP_NE:
			m[insn->d] = m[insn->a] != m[insn->b];
			break;
		case OP_LTU:
			m[insn->d] = m[insn->a] < m[insn->b];
			break;
		case OP_LEU:
			m[insn->d] = m[insn->a] <= m[insn->b];
			break;
		case OP_LTS:
			m[insn->d] = (int64_t)m[insn->a] < (int64_t)m[insn->b];
			break;
		case OP_LES:
			m[insn->d] = (int64_t)m[insn->a] <= (int64_t)m[insn->b];
			break;
		case OP_BOOL:
			m[insn->d] = m[insn->a] != 0;
			break;
		case OP_LOGNOT:
			m[insn->d] = m[insn->a] == 0;
			break;
		case OP_ZEXT:
			m[insn->d] = m[insn->a] & mask_bits(insn->n);
			break;
		case OP_SEXT:
			m[insn->d] = sign_extend(m[insn->a], insn->n);
			break;
		case OP_SAT_U:
			m[insn->d] = saturate(m[insn->a], insn->n, false);
			break;
		case OP_SAT_S:
			m[insn->d] = saturate(m[insn->a], insn->n, true);
			break;
		/* what may lead back counts its steps */
		case OP_JUMP:
			if ((*steps)-- == 0)
				return RUN_TOO_LONG;
			at = insn->d;
			break;
		case OP_JUMP_IF:
			if ((*steps)-- == 0)
				return RUN_TOO_LONG;
			if (m[insn->a])
				at = insn->d;
			break;
		case OP_JUMP_IFN:
			if ((*steps)-- == 0)
				return RUN_TOO_LONG;
			if (!m[insn->a])
				at = insn->d;
			break;

		case OPW_MOVE:
			memmove(m + insn->d, m + insn->a, insn->n * sizeof(*m));
			break;
		case OPW_ADD:
			wide_add(m + insn->d, m + insn->a, m + insn->b, insn->n);
			break;
		case OPW_SUB:
			wide_sub(m + insn->d, m + insn->a, m + insn->b, insn->n);
			break;
		case OPW_MUL:
			wide_mul(m + insn->d, m + insn->a, m + insn->b, insn->n);
			break;
		case OPW_AND:
			for (uint32_t i = 0; i < insn->n; i++)
				m[insn->d + i] = m[insn->a + i] & m[insn->b + i];
			break;
		case OPW_OR:
			for (uint32_t i = 0; i < insn->n; i++)
				m[insn->d + i] = m[insn->a + i] | m[insn->b + i];
			break;
		case OPW_XOR:
			for (uint32_t i = 0; i < insn->n; i++)
				m[insn->d + i] = m[insn->a + i] ^ m[insn->b + i];
			break;
		case OPW_NOT:
			for (uint32_t i = 0; i < insn->n; i++)
				m[insn->d + i] = ~m[insn->a + i];
			break;
		case OPW_SHL:
			wide_shl(m + insn->d, m + insn->a, m[insn->b], insn->n);
			break;
		case OPW_SHR:
			wide_shr(m + insn->d, m + insn->a, m[insn->b], insn->n, false);
			break;
		case OPW_SAR:
			wide_shr(m + insn->d, m + insn->a, m[insn->b], insn->n, true);
			break;
		case OPW_EQ:
			m[insn->d] = wide_equal(m + insn->a, m + insn->b, insn->n);
			break;
		case OPW_LTU:
			m[insn->d] = wide_less(m + insn->a, m + insn->b, insn->n, false);
			break;
		case OPW_LTS:
			m[insn->d] = wide_less(m + insn->a, m + insn->b, insn->n, true);
			break;
		case OPW_ZEXT:
			wide_zext(m + insn->d, insn->b, insn->n);
			break;
		case OPW_SEXT:
			wide_sext(m + insn->d, insn->b, insn->n);
			break;
		case OPW_WIDEN_U:
		case OPW_WIDEN_S: {
			uint64_t fill = insn->op == OPW_WIDEN_S && m[insn->a + insn->b - 1] >> 63 ? UINT64_MAX : 0;

			memmove(m + insn->d, m + insn->a, insn->b * sizeof(*m));
			for (uint32_t i = insn->b; i < insn->n; i++)
				m[insn->d + i] = fill;
			break;
		}
		case OPW_SAT_U:
			wide_saturate(m + insn->d, m + insn->a, insn->b, insn->n, false);
			break;
		case OPW_SAT_S:
			wide_saturate(m + insn->d, m + insn->a, insn->b, insn->n, true);
			break;
		case OPW_BOOL: {
			uint64_t any = 0;

			for (uint32_t i = 0; i < insn->n; i++)
				any |= m[insn->a + i];
			m[insn->d] = any != 0;
			break;
		}

		case OP_ADD_HEADER:
			header_add(packet, p, insn->d);
			break;
		case OP_REMOVE_HEADER:
			header_remove(packet, p, insn->d);
			break;
		case OP_COPY_HEADER:
			header_copy(p, m, insn->d, insn->a);
			break;
		case OP_COPY_VARIABLE:
			variable_copy(p, m, insn->d, insn->a);
			break;
		case OP_EQ_VARIABLE:
			m[insn->d] = variable_equal(p, m, insn->a, insn->b);
			break;
		case OP_COPY_STACK:
			stack_copy(p, m, insn->d, insn->a);
			break;
		case OP_COPY_UNION:
			union_copy(p, m, insn->d, insn->a);
			break;
		case OP_PUSH:
			stack_push(p, m, insn->d, insn->n);
			break;
		case OP_POP:
			stack_pop(p, m, insn->d, insn->n);
			break;
		case OP_VALID_UNION:
			m[insn->d] = valid_union(p, m, insn->a);
			break;
		case OP_STACK_NEXT:
			m[insn->d] = m[p->stacks[insn->a].next_slot];
			break;
		case OP_LOAD_AT:
			load_at(insn, m);
			at++;
			break;
		case OP_STORE_AT:
			store_at(insn, m);
			at++;
			break;
		case OP_HEADER_AT:
			header_at(p, packet, insn);
			break;

		case OP_EXTRACT:
			if (!parse_extract(p, packet, insn->d, 0))
				return RUN_PARSER_ERROR;
			break;
		case OP_EXTRACT_VARIABLE:
			if (!parse_extract(p, packet, insn->d, m[insn->a]))
				return RUN_PARSER_ERROR;
			break;
		case OP_EXTRACT_NEXT:
		case OP_EXTRACT_UNION:
			if (!extract_next(p, packet, insn, insn->op == OP_EXTRACT_UNION))
				return RUN_PARSER_ERROR;
			break;
		case OP_LOOKAHEAD:
			if (!parse_lookahead(p, packet, insn))
				return RUN_PARSER_ERROR;
			break;
		case OP_ADVANCE:
			if (!parse_advance(p, packet, m[insn->a]))
				return RUN_PARSER_ERROR;
			break;
		case OP_VERIFY:
			if (!m[insn->a]) {
				packet->parser_error = (uint32_t)m[insn->b];
				return RUN_PARSER_ERROR;
			}
			break;
		case OP_SELECT:
			if ((*steps)-- == 0)
				return RUN_TOO_LONG;
			at = parse_select(x, m, insn->d);
			if (at == NOWHERE) {
				packet->parser_error = p->errors.no_match;
				return RUN_PARSER_ERROR;
			}
			break;
		case OP_LAST_FIELD:
			last_field(p, insn, m);
			break;

		case OP_APPLY:
			if ((*steps)-- == 0)
				return RUN_TOO_LONG;
			end = apply(x, packet, insn->d, &at, steps);
			if (end != RUN_DONE)
				return end;
			break;
		case OP_ACTION:
			end = exec_run(x, packet, p->actions[insn->d].code, steps);
			if (end != RUN_DONE)
				return end;
			break;
		case OP_ACCEPT:
		case OP_RETURN:
			return RUN_DONE;
		case OP_EXIT:
			return RUN_EXIT;
		case OP_DROP:
			drop(x, m);
			break;
		case OP_REGISTER_READ:
			register_read(x->state, insn->a, m[insn->b], m + insn->d);
			break;
		case OP_REGISTER_WRITE:
			register_write(x->state, insn->d, m[insn->b], m + insn->a);
			break;
		case OP_COUNT:
			counter_count(x->state, insn->d, m[insn->a], packet->packet_length);
			break;
		case OP_METER: {
			enum colour colour;

			if (meter_execute(x->state, insn->a, m[insn->b], packet->packet_length, x->now_us, &colour))
				m[insn->d] = colour;
			break;
		}
		case OP_HASH:
			m[insn->d] = hash_between(x, packet, insn);
			break;
		case OP_RANDOM:
			random_between(x, insn, m);
			break;
		case OP_CLONE:
			packet->asked.clone = true;
			packet->asked.clone_session = (uint32_t)m[insn->a];
			packet->asked.clone_list = (uint32_t)m[insn->b];
			break;
		case OP_RESUBMIT:
			packet->asked.resubmit = true;
			packet->asked.resubmit_list = (uint32_t)m[insn->a];
			break;
		case OP_RECIRCULATE:
			packet->asked.recirculate = true;
			packet->asked.recirculate_list = (uint32_t)m[insn->a];
			break;
		case OP_DIGEST:
			packet->asked.digest = true;
			packet->asked.digest_list = insn->a;
			break;
		case OP_TRUNCATE:
			packet->asked.truncate = true;
			packet->asked.truncate_bytes = m[insn->a] > PACKET_MOST ? PACKET_MOST : (uint32_t)m[insn->a];
			break;
		case OP_LOG:
			log_message(x, insn->d, m);
			break;
		case OP_ASSERT:
			if (!m[insn->a]) {
				log_message(x, insn->d, m);
				packet->asked.assertion_failed = true;
				return RUN_EXIT;
			}
			break;
		case OP_COUNT_OF_OPS:
			return RUN_TOO_LONG;
		}
	}
}
