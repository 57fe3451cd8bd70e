// SPDX-License-Identifier: Apache-2.0
// What happens between and after the controls: clones, resubmission, recirculation, multicast, truncation, drops.
#include "bed.p4h"

header op_t { bit<8> op; bit<8> count; bit<8> kept; bit<16> instance; bit<8> type; bit<8> port; }
struct headers_t { op_t op; }
struct meta_t {
    @field_list(1) bit<8> kept;
    bit<8> lost;
}

parser Par(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    state start { p.extract(h.op); transition accept; }
}
control In(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        if (h.op.op == 0) mark_to_drop(sm);
        else if (h.op.op == 1) { m.kept = 0x11; m.lost = 0x22; h.op.count = 0x77; clone_preserving_field_list(CloneType.I2E, 5, 1); }
        else if (h.op.op == 3) {
            if (sm.instance_type == 6) { h.op.kept = m.kept + m.lost; }
            else { m.kept = 0x33; m.lost = 0x44; h.op.count = 0x55; resubmit_preserving_field_list(1); }
        }
        else if (h.op.op == 5) sm.mcast_grp = 7;
        else if (h.op.op == 6) truncate(9);
        else if (h.op.op == 7) { sm.egress_spec = 511; clone(CloneType.I2E, 5); }
        else if (h.op.op == 8) { sm.mcast_grp = 99; }
        else if (h.op.op == 9) { sm.egress_spec = 511; sm.mcast_grp = 7; }
        else if (h.op.op == 10) { clone(CloneType.I2E, 77); }
        else if (h.op.op == 12) { sm.egress_spec = 511; exit; }
    }
}
control Eg(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        if (h.op.op == 2 && sm.instance_type == 0) { m.kept = 0x66; h.op.count = 0x99; clone_preserving_field_list(CloneType.E2E, 5, 1); }
        if (h.op.op == 4 && h.op.count < 3) {
            h.op.count = h.op.count + 1;
            m.kept = m.kept + 0x10;
            h.op.kept = m.kept;
            recirculate_preserving_field_list(1);
        }
        if (sm.instance_type == 1 || sm.instance_type == 2) h.op.kept = m.kept + m.lost;
        if (h.op.op == 11) mark_to_drop(sm);
        h.op.instance = sm.egress_rid;
        h.op.type = (bit<8>)sm.instance_type;
        h.op.port = (bit<8>)sm.egress_port;
    }
}
CHECKSUMS_NOTHING
EMIT_ALL
END
