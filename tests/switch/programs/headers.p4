// SPDX-License-Identifier: Apache-2.0
// Headers in controls: validity, copies, stacks by push, pop and computed index, unions.
#include "bed.p4h"

header op_t { bit<8> op; bit<8> i; bit<8> r; }
header item_t { bit<8> v; }
header other_t { bit<16> v; }
header_union u_t { item_t item; other_t other; }
struct headers_t { op_t op; item_t extra; item_t[4] s; u_t u; item_t[2] none; }
struct meta_t { item_t kept; }

parser Par(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    state start { p.extract(h.op); p.extract(h.s.next); p.extract(h.s.next); transition accept; }
}
control In(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        if (h.op.op == 0) { h.s.push_front(1); h.s[0].setValid(); h.s[0].v = 0xf0; }
        else if (h.op.op == 1) h.s.push_front(3);
        else if (h.op.op == 2) h.s.pop_front(1);
        else if (h.op.op == 3) h.s.pop_front(9);
        else if (h.op.op == 4) { h.op.r = h.s[h.op.i].v; }
        else if (h.op.op == 5) { h.s[h.op.i].v = 0xee; }
        else if (h.op.op == 6) { h.extra = h.s[1]; h.s[1].setInvalid(); }
        else if (h.op.op == 7) { h.extra = h.s[3]; h.op.r = h.extra.isValid() ? 8w1 : 8w0; }
        else if (h.op.op == 8) { h.u.item.setValid(); h.u.item.v = 0xaa; h.u.other.setValid(); h.u.other.v = 0xbbbb; }
        else if (h.op.op == 9) { h.u.other = { 0xcccc }; h.op.r = h.u.isValid() ? 8w1 : 8w0; h.u.other.setInvalid(); h.op.i = h.u.isValid() ? 8w1 : 8w0; }
        else if (h.op.op == 10) { m.kept = h.s[0]; h.s[0].v = 0x55; h.extra = m.kept; }
        else if (h.op.op == 11) { h.op.r = h.s[0] == h.s[1] ? 8w1 : 8w2; }
        else if (h.op.op == 12) { h.s[2].setValid(); h.s[3] = h.s[0]; h.op.setInvalid(); }
    }
}
CHECKSUMS_NOTHING
EGRESS_NOTHING
EMIT_ALL
END
