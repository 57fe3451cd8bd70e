// SPDX-License-Identifier: Apache-2.0
// Each match kind, alone and mixed; entries of the program, priorities, default actions, exit, hit and miss.
#include "bed.p4h"

header key_t { bit<8> which; bit<8> a; bit<16> b; bit<32> c; bit<128> d; bit<8> r; }
struct headers_t { key_t k; }
struct meta_t { }

parser Par(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    state start { p.extract(h.k); transition accept; }
}

control In(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    action set(bit<8> r) { h.k.r = r; }
    action add(bit<8> r) { h.k.r = h.k.r + r; }
    action leave(bit<8> r) { h.k.r = r; exit; }
    action miss() { h.k.r = 0xee; }
    table exact1 { key = { h.k.a: exact; h.k.d: exact; } actions = { set; add; leave; miss; } default_action = miss; size = 4; }
    table exact2 { key = { h.k.a: exact; } actions = { set; add; leave; miss; } default_action = miss; }
    table lpm32 { key = { h.k.c: lpm; } actions = { set; NoAction; } default_action = NoAction; }
    table lpm_mixed { key = { h.k.a: exact; h.k.d: lpm; } actions = { set; @defaultonly miss; } default_action = miss; }
    table masked { key = { h.k.a: ternary; h.k.b: ternary; h.k.d: ternary; } actions = { set; miss; } default_action = miss; }
    table ranges { key = { h.k.b: range; h.k.a: exact; } actions = { set; miss; } default_action = miss; }
    table optionals { key = { h.k.b: optional; h.k.c: lpm; } actions = { set; miss; } default_action = miss; }
    table fixed {
        key = { h.k.a: ternary; h.k.b: exact; }
        actions = { set; miss; }
        const default_action = miss;
        const entries = {
            (0x10 &&& 0xf0, 7): set(1);
            (0x12, 7): set(2); // never: the first is before it
            (_, 7): set(3);
            (_, 8): set(4);
        }
    }
    table fixed_lpm {
        key = { h.k.c: lpm; }
        actions = { set; miss; }
        default_action = set(9);
        const entries = {
            0x0a000000 &&& 0xff000000: set(1);
            0x0a0b0000 &&& 0xffff0000: set(2);
        }
    }
    table no_key { actions = { set; miss; } default_action = set(0x33); }
    apply {
        sm.egress_spec = 1;
        if (h.k.which == 1) { if (exact1.apply().hit) h.k.b = 1; else h.k.b = 2; }
        else if (h.k.which == 2) lpm32.apply();
        else if (h.k.which == 3) lpm_mixed.apply();
        else if (h.k.which == 4) masked.apply();
        else if (h.k.which == 5) ranges.apply();
        else if (h.k.which == 6) optionals.apply();
        else if (h.k.which == 7) fixed.apply();
        else if (h.k.which == 8) fixed_lpm.apply();
        else if (h.k.which == 9) no_key.apply();
        else if (h.k.which == 10) {
            switch (exact2.apply().action_run) {
                set: { h.k.b = 1; }
                add: { h.k.b = 2; }
                default: { h.k.b = 3; }
            }
        }
        h.k.which = 0xff;
    }
}
CHECKSUMS_NOTHING
EGRESS_NOTHING
EMIT_ALL
END
