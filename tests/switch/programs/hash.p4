// SPDX-License-Identifier: Apache-2.0
// Hashes of every algorithm that v1model names, and checksums: verified, updated, conditional, over the payload.
#include "bed.p4h"

header op_t { bit<8> op; bit<8> bad; }
header data_t { bit<4> a; bit<12> b; bit<32> c; int<8> d; bit<64> r; }
header ip_t { bit<32> w; bit<8> x; bit<16> sum; bit<8> y; }
struct headers_t { op_t op; data_t d; ip_t ip; ip_t ip2; }
struct meta_t { }

parser Par(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        p.extract(h.op);
        transition select(h.op.op) {
            0 .. 9: data;
            10 .. 12: ip;
        }
    }
    state data { p.extract(h.d); transition accept; }
    state ip {
        p.extract(h.ip);
        transition select(h.op.op) {
            12: ip2;
            default: accept;
        }
    }
    state ip2 { p.extract(h.ip2); transition accept; }
}
control Ver(inout headers_t h, inout meta_t m) {
    apply {
        verify_checksum(h.op.op == 10, { h.ip.w, h.ip.x, h.ip.y }, h.ip.sum, HashAlgorithm.csum16);
        verify_checksum_with_payload(h.op.op == 12, { h.ip2.w, h.ip2.x, h.ip2.y }, h.ip2.sum, HashAlgorithm.csum16);
    }
}
control In(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        bit<32> r32 = 0;
        bit<16> r16 = 0;
        sm.egress_spec = 1;
        h.op.bad = (bit<8>)sm.checksum_error;
        if (h.op.op == 0) { hash(r32, HashAlgorithm.crc32, 32w0, { h.d.a, h.d.b, h.d.c, h.d.d }, 64w0x100000000); h.d.r = (bit<64>)r32; }
        else if (h.op.op == 1) { hash(r16, HashAlgorithm.crc16, 16w0, { h.d.a, h.d.b, h.d.c, h.d.d }, 32w0x10000); h.d.r = (bit<64>)r16; }
        else if (h.op.op == 2) { hash(r16, HashAlgorithm.csum16, 16w0, { h.d.a, h.d.b, h.d.c, h.d.d }, 32w0x10000); h.d.r = (bit<64>)r16; }
        else if (h.op.op == 3) { hash(r16, HashAlgorithm.xor16, 16w0, { h.d.a, h.d.b, h.d.c, h.d.d }, 32w0x10000); h.d.r = (bit<64>)r16; }
        else if (h.op.op == 4) { hash(h.d.r, HashAlgorithm.identity, 64w0, { h.d.a, h.d.b, h.d.c, h.d.d }, 64w0xffffffffffffffff); }
        else if (h.op.op == 5) { hash(r32, HashAlgorithm.crc32, 32w100, { h.d.a, h.d.b, h.d.c, h.d.d }, 64w10); h.d.r = (bit<64>)r32; }
        else if (h.op.op == 6) { hash(r32, HashAlgorithm.crc32, 32w0, { h.d.b }, 64w0x100000000); h.d.r = (bit<64>)r32; }
        else if (h.op.op == 7) { hash(r32, HashAlgorithm.crc32, 32w7, { h.d.b }, 64w0); h.d.r = (bit<64>)r32; }
    }
}
control Upd(inout headers_t h, inout meta_t m) {
    apply {
        update_checksum(h.op.op == 11, { h.ip.w, h.ip.x, h.ip.y }, h.ip.sum, HashAlgorithm.csum16);
        update_checksum_with_payload(h.op.op == 10, { h.ip.w, h.ip.x, h.ip.y }, h.ip.sum, HashAlgorithm.csum16);
    }
}
EGRESS_NOTHING
EMIT_ALL
END
