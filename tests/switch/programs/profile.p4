// SPDX-License-Identifier: Apache-2.0
// Action profiles and selectors: members, groups, the choice by a hash of the fields named.
#include "bed.p4h"

header key_t { bit<8> which; bit<8> a; bit<16> flow; bit<8> r; }
struct headers_t { key_t k; }
struct meta_t { }

parser Par(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    state start { p.extract(h.k); transition accept; }
}
control In(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    action set(bit<8> r) { h.k.r = r; }
    action miss() { h.k.r = 0xee; }
    table plain {
        key = { h.k.a: exact; }
        actions = { set; miss; }
        implementation = action_profile(8);
    }
    table chosen {
        key = { h.k.a: exact; h.k.flow: selector; }
        actions = { set; miss; }
        implementation = action_selector(HashAlgorithm.crc16, 16, 16);
    }
    apply {
        sm.egress_spec = 1;
        if (h.k.which == 1) plain.apply();
        else chosen.apply();
    }
}
CHECKSUMS_NOTHING
EGRESS_NOTHING
EMIT_ALL
END
