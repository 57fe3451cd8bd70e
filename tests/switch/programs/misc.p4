// SPDX-License-Identifier: Apache-2.0
// random, digest, log_msg, assert, assume, priorities, and all of standard metadata.
#include "bed.p4h"

header op_t { bit<8> op; bit<32> v; }
header std_t {
    bit<16> ingress_port; bit<16> egress_port; bit<32> instance_type; bit<32> packet_length; bit<32> enq_timestamp;
    bit<24> enq_qdepth; bit<32> deq_timedelta; bit<24> deq_qdepth; bit<48> ingress_global; bit<48> egress_global;
    bit<16> mcast_grp; bit<16> egress_rid; bit<8> priority;
}
struct headers_t { op_t op; std_t std; }
struct meta_t { }
struct seen_t { bit<8> op; bit<32> v; }

parser Par(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    state start { p.extract(h.op); transition accept; }
}
control In(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        if (h.op.op == 1) {
            bit<32> r;
            random(r, 32w10, 32w12);
            h.op.v = r >= 10 && r <= 12 ? 32w1 : 32w0;
            random(r, 32w7, 32w7);
            h.op.v = h.op.v + r;
        }
        else if (h.op.op == 2) digest<seen_t>(1, { h.op.op, h.op.v });
        else if (h.op.op == 3) log_msg("op {} value {}", { h.op.op, h.op.v });
        else if (h.op.op == 4) assert(h.op.v != 0);
        else if (h.op.op == 5) assume(h.op.v != 0);
        else if (h.op.op == 6) sm.priority = 5;
    }
}
control Eg(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        if (h.op.op == 6 || h.op.op == 7) {
            h.std.setValid();
            h.std.ingress_port = (bit<16>)sm.ingress_port;
            h.std.egress_port = (bit<16>)sm.egress_port;
            h.std.instance_type = sm.instance_type;
            h.std.packet_length = sm.packet_length;
            h.std.enq_timestamp = sm.enq_timestamp;
            h.std.enq_qdepth = (bit<24>)sm.enq_qdepth;
            h.std.deq_timedelta = sm.deq_timedelta;
            h.std.deq_qdepth = (bit<24>)sm.deq_qdepth;
            h.std.ingress_global = sm.ingress_global_timestamp;
            h.std.egress_global = sm.egress_global_timestamp;
            h.std.mcast_grp = sm.mcast_grp;
            h.std.egress_rid = sm.egress_rid;
            h.std.priority = (bit<8>)sm.priority;
        }
    }
}
CHECKSUMS_NOTHING
EMIT_ALL
END
