// SPDX-License-Identifier: Apache-2.0
// Expressions at 8, 64, 128 and odd widths: signed, saturating, shifts, slices, casts, concatenation.
#include "bed.p4h"

header op_t { bit<8> op; }
header narrow_t { bit<8> a; bit<8> b; bit<8> r; }
header signed_t { int<8> a; int<8> b; int<8> r; }
header word_t { bit<64> a; bit<64> b; bit<64> r; }
header wide_t { bit<128> a; bit<128> b; bit<128> r; }
header swide_t { int<128> a; int<128> b; int<128> r; }
header odd_t { bit<13> a; bit<19> b; bit<32> r; }

struct headers_t { op_t op; narrow_t n; signed_t s; word_t w; wide_t x; swide_t y; odd_t o; }
struct meta_t { }

parser Par(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        p.extract(h.op);
        transition select(h.op.op) {
            0x00 &&& 0xf0: narrow;
            0x10 &&& 0xf0: signed_;
            0x20 &&& 0xf0: word;
            0x30 &&& 0xf0: wide;
            0x40 &&& 0xf0: swide;
            default: odd;
        }
    }
    state narrow { p.extract(h.n); transition accept; }
    state signed_ { p.extract(h.s); transition accept; }
    state word { p.extract(h.w); transition accept; }
    state wide { p.extract(h.x); transition accept; }
    state swide { p.extract(h.y); transition accept; }
    state odd { p.extract(h.o); transition accept; }
}

control In(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    action compute_narrow() {
        bit<8> op = h.op.op;
        if (op == 0x00) h.n.r = h.n.a + h.n.b;
        if (op == 0x01) h.n.r = h.n.a - h.n.b;
        if (op == 0x02) h.n.r = h.n.a * h.n.b;
        if (op == 0x03) h.n.r = h.n.a |+| h.n.b;
        if (op == 0x04) h.n.r = h.n.a |-| h.n.b;
        if (op == 0x05) h.n.r = h.n.a << h.n.b;
        if (op == 0x06) h.n.r = h.n.a >> h.n.b;
        if (op == 0x07) h.n.r = ~h.n.a;
        if (op == 0x08) h.n.r = -h.n.a;
        if (op == 0x09) h.n.r = h.n.a[6:3] ++ h.n.b[3:0];
        if (op == 0x0a) h.n.r[5:2] = h.n.a[3:0];
        if (op == 0x0b) h.n.r = h.n.a < h.n.b ? h.n.a & h.n.b : h.n.a ^ h.n.b;
        if (op == 0x0c) h.n.r = (bit<8>)(bit<1>)(h.n.a >= h.n.b && h.n.b != 0);
        if (op == 0x0d) h.n.r = (bit<8>)(((bit<16>)h.n.a * (bit<16>)h.n.b) >> 8);
    }
    action compute_signed() {
        bit<8> op = h.op.op;
        if (op == 0x10) h.s.r = h.s.a + h.s.b;
        if (op == 0x11) h.s.r = h.s.a - h.s.b;
        if (op == 0x12) h.s.r = h.s.a * h.s.b;
        if (op == 0x13) h.s.r = h.s.a |+| h.s.b;
        if (op == 0x14) h.s.r = h.s.a |-| h.s.b;
        if (op == 0x15) h.s.r = h.s.a >> (bit<8>)h.s.b;
        if (op == 0x16) h.s.r = h.s.a < h.s.b ? 8s1 : -8s1;
        if (op == 0x17) h.s.r = (int<8>)(((int<16>)h.s.a * (int<16>)h.s.b) >> 8);
        if (op == 0x18) h.s.r = -h.s.a;
        if (op == 0x19) h.s.r = h.s.a << 1;
    }
    action compute_word() {
        bit<8> op = h.op.op;
        if (op == 0x20) h.w.r = h.w.a + h.w.b;
        if (op == 0x21) h.w.r = h.w.a - h.w.b;
        if (op == 0x22) h.w.r = h.w.a * h.w.b;
        if (op == 0x23) h.w.r = h.w.a |+| h.w.b;
        if (op == 0x24) h.w.r = (bit<64>)(((bit<128>)h.w.a * (bit<128>)h.w.b) >> 64);
        if (op == 0x25) h.w.r = (bit<64>)(bit<1>)((int<64>)h.w.a < (int<64>)h.w.b);
        if (op == 0x26) h.w.r = h.w.a >> (bit<8>)h.w.b;
        if (op == 0x27) h.w.r = h.w.a |-| h.w.b;
    }
    action compute_wide() {
        bit<8> op = h.op.op;
        if (op == 0x30) h.x.r = h.x.a + h.x.b;
        if (op == 0x31) h.x.r = h.x.a - h.x.b;
        if (op == 0x32) h.x.r = h.x.a * h.x.b;
        if (op == 0x33) h.x.r = h.x.a |+| h.x.b;
        if (op == 0x34) h.x.r = h.x.a |-| h.x.b;
        if (op == 0x35) h.x.r = h.x.a << (bit<8>)h.x.b;
        if (op == 0x36) h.x.r = h.x.a >> (bit<8>)h.x.b;
        if (op == 0x37) h.x.r = h.x.a[99:36] ++ h.x.b[63:0];
        if (op == 0x38) h.x.r = h.x.a < h.x.b ? ~h.x.a : h.x.a ^ h.x.b;
        if (op == 0x39) h.x.r = h.x.a == h.x.b ? 128w1 : 128w2;
        if (op == 0x3a) h.x.r[71:60] = h.x.a[11:0];
    }
    action compute_swide() {
        bit<8> op = h.op.op;
        if (op == 0x40) h.y.r = h.y.a + h.y.b;
        if (op == 0x41) h.y.r = h.y.a |+| h.y.b;
        if (op == 0x42) h.y.r = h.y.a |-| h.y.b;
        if (op == 0x43) h.y.r = h.y.a >> (bit<8>)(bit<128>)h.y.b;
        if (op == 0x44) h.y.r = h.y.a < h.y.b ? 128s1 : -128s1;
        if (op == 0x45) h.y.r = (int<128>)(int<8>)(bit<8>)(bit<128>)h.y.a;
    }
    action compute_odd() {
        h.o.r = (bit<32>)h.o.a * (bit<32>)h.o.b + (bit<32>)(h.o.b[18:6] + h.o.a);
    }
    apply {
        sm.egress_spec = 1;
        if (h.n.isValid()) compute_narrow();
        else if (h.s.isValid()) compute_signed();
        else if (h.w.isValid()) compute_word();
        else if (h.x.isValid()) compute_wide();
        else if (h.y.isValid()) compute_swide();
        else compute_odd();
    }
}
CHECKSUMS_NOTHING
EGRESS_NOTHING
EMIT_ALL
END
