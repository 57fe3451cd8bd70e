// SPDX-License-Identifier: Apache-2.0
// What outlives a packet: counters, registers, meters, each direct ones too.
#include "bed.p4h"

header key_t { bit<8> what; bit<8> index; bit<32> value; bit<8> colour; }
struct headers_t { key_t k; }
struct meta_t { bit<2> colour; bit<100> wide; }

parser Par(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    state start { p.extract(h.k); transition accept; }
}
control In(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    counter(4, CounterType.packets_and_bytes) counts;
    direct_counter(CounterType.packets_and_bytes) entry_counts;
    register<bit<32>>(4) cells;
    register<bit<100>>(2) wide_cells;
    register<int<8>>(2) signed_cells;
    meter(4, MeterType.packets) rates;
    direct_meter<bit<2>>(MeterType.bytes) entry_rates;
    action note(bit<8> v) { entry_counts.count(); h.k.colour = v; }
    action pass() { entry_rates.read(m.colour); }
    table counted { key = { h.k.index: exact; } actions = { note; NoAction; } default_action = NoAction; counters = entry_counts; }
    table metered { key = { h.k.index: exact; } actions = { pass; NoAction; } default_action = NoAction; meters = entry_rates; }
    apply {
        bit<32> before;
        int<8> small;
        sm.egress_spec = 1;
        if (h.k.what == 1) counts.count((bit<32>)h.k.index);
        else if (h.k.what == 2) counted.apply();
        else if (h.k.what == 3) {
            cells.read(before, (bit<32>)h.k.index);
            cells.write((bit<32>)h.k.index, before + h.k.value);
            h.k.value = before;
        } else if (h.k.what == 4) {
            wide_cells.read(m.wide, (bit<32>)h.k.index);
            wide_cells.write((bit<32>)h.k.index, m.wide + (bit<100>)h.k.value);
            h.k.value = m.wide[95:64];
        } else if (h.k.what == 5) {
            signed_cells.read(small, (bit<32>)h.k.index);
            signed_cells.write((bit<32>)h.k.index, small - 100);
            h.k.colour = small < 0 ? 8w1 : 8w0;
            h.k.value = (bit<32>)(int<32>)small;
        } else if (h.k.what == 6) {
            rates.execute_meter((bit<32>)h.k.index, m.colour);
            h.k.colour = (bit<8>)m.colour;
        } else if (h.k.what == 7) {
            metered.apply();
            h.k.colour = (bit<8>)m.colour;
        }
    }
}
CHECKSUMS_NOTHING
EGRESS_NOTHING
EMIT_ALL
END
