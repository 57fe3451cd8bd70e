// SPDX-License-Identifier: Apache-2.0
// The parser: select with masks and ranges of keys, lookahead, advance, variable length, value sets, verify,
// stacks, unions. The first byte says what is tried; the last header of the answer how the parser ended.
#include "bed.p4h"

header kind_t { bit<8> kind; }
header byte_t { bit<8> v; }
header pair_t { bit<4> a; bit<12> b; }
header var_t { bit<8> length; varbit<64> data; }
header item_t { bit<1> last; bit<7> v; }
header a_t { bit<8> tag; bit<8> a; }
header b_t { bit<8> tag; bit<16> b; }
header_union u_t { a_t a; b_t b; }
header result_t { bit<8> err; bit<8> path; bit<32> looked; }

struct headers_t {
    result_t result;
    kind_t kind;
    byte_t b;
    pair_t pair;
    var_t data;
    item_t[3] items;
    u_t u;
}
struct meta_t { bit<8> path; bit<32> looked; }

parser Par(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    value_set<bit<8>>(4) known;
    value_set<tuple<bit<4>, bit<12>>>(4) pairs;
    state start {
        p.extract(h.kind);
        transition select(h.kind.kind) {
            0x01: masks;
            0x02: variable;
            0x03: stack;
            0x04: looks;
            0x05: skips;
            0x06: verifies;
            0x07: unions;
            0x08: sets;
            0xf0 &&& 0xf0: high;
            0x10 .. 0x1c: ranged;
        }
    }
    state masks {
        p.extract(h.pair);
        transition select(h.pair.a, h.pair.b) {
            (0x1, 0x123): one;
            (0x2, 0x100 &&& 0xf00): two;
            (_, 0x456): three;
            default: accept;
        }
    }
    state one { m.path = 1; transition accept; }
    state two { m.path = 2; transition accept; }
    state three { m.path = 3; transition accept; }
    state variable {
        h.data.setInvalid();
        p.extract(h.data, (bit<32>)p.lookahead<bit<8>>() * 8);
        transition accept;
    }
    state stack {
        p.extract(h.items.next);
        transition select(h.items.last.last) {
            0: stack;
            1: accept;
        }
    }
    state looks {
        m.looked = p.lookahead<bit<32>>();
        transition select(p.lookahead<bit<12>>()) {
            0xabc: one;
            default: accept;
        }
    }
    state skips {
        p.advance(16);
        p.extract(h.b);
        transition accept;
    }
    state verifies {
        p.extract(h.b);
        verify(h.b.v < 10, error.HeaderTooShort);
        m.path = 4;
        transition accept;
    }
    state unions {
        transition select(p.lookahead<bit<8>>()) {
            1: union_a;
            2: union_b;
        }
    }
    state union_a { p.extract(h.u.a); transition accept; }
    state union_b { p.extract(h.u.b); transition accept; }
    state sets {
        p.extract(h.b);
        transition select(h.b.v) {
            known: set_pair;
            default: accept;
        }
    }
    state set_pair {
        m.path = 5;
        p.extract(h.pair);
        transition select(h.pair.a, h.pair.b) {
            pairs: one;
            default: accept;
        }
    }
    state high { m.path = 6; transition accept; }
    state ranged { m.path = 7; transition accept; }
}

control In(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        h.result.setValid();
        h.result.path = m.path;
        h.result.looked = m.looked;
        h.result.err = 0xff;
        if (sm.parser_error == error.NoError) h.result.err = 0;
        else if (sm.parser_error == error.PacketTooShort) h.result.err = 1;
        else if (sm.parser_error == error.NoMatch) h.result.err = 2;
        else if (sm.parser_error == error.StackOutOfBounds) h.result.err = 3;
        else if (sm.parser_error == error.HeaderTooShort) h.result.err = 4;
        else if (sm.parser_error == error.ParserInvalidArgument) h.result.err = 6;
    }
}
CHECKSUMS_NOTHING
EGRESS_NOTHING
EMIT_ALL
END
