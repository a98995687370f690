// COLLAR in integers (docs/reference/disciplines/collar-integer.md, whose names these are) for v1model, as far as P4_16 goes.
// SPDX-License-Identifier: MIT OR Apache-2.0
//
// An arrival is decided here in full: the table of suspects, the filter, the memory and the controller's probability. A departure is
// remembered here, and a sample is compared with the memory. What follows a sample and what the controller does each 16 ms take
// divisions of numbers that are known at run time only, and halve each count of the table: P4_16 has neither that division nor, before
// version 1.2.5, a loop. The control plane reads samples from a ring of registers, computes the rest, and writes the registers `given`.

#include <core.p4>
#include <v1model.p4>

// One port; ids and sets are powers of two here, so that a product of 32 random bits is a shift.
#define IDS 256
#define BLOCKS_BITS 3
#define SETS_BITS 4

struct metadata_t {
    bit<32> id;
    bit<1>  is_queued;
    bit<64> arrived_ns;
}

#include "packets.p4"

// The packet count of the queue: admitted by ingress, departed by egress.
register<bit<32>>(1) admitted;
register<bit<32>>(1) departed;
// Suspects: eight ways a set. Ingress adds to counts; the control plane enters suspects and halves counts.
register<bit<24>>(8 << SETS_BITS) suspect_id;
register<bit<40>>(8 << SETS_BITS) suspect_count;
// Ids of departures: block b has places 32 b to 32 b + 31.
register<bit<32>>(IDS) memory;
register<bit<32>>(1) remembered;
// Bytes to the next sample, which the control plane sets anew after each, and the distance of the last.
register<int<34>>(1) until;
register<bit<31>>(1) distance;

// Given by the control plane after each sample and each update.
register<bit<64>>(16) given;
#define G_WEIGHT 0
#define G_LIMIT 1
#define G_ALLOWED 2
#define G_KEPT 3
#define G_KNEE 4
#define G_KNEE2 5
#define G_BASE 6
#define G_BY_SHARE 7
#define G_SPARED 8
#define G_PER_SIZE 9
#define G_S 10
#define G_BUFFER 11
#define G_ECN 12
#define G_KEY 13
// For the control plane, which clears it: a suspect was above its limit.
register<bit<1>>(1) pressed;
// Dropped: 0 overflow, 1 filter, 2 memory, 3 controller; marked: 5 filter, 6 memory, 7 controller.
register<bit<32>>(8) counters;

#define QUEUE 0
#define MARK 1
#define DROP 2
#define OVERFLOW 0
#define FILTER 1
#define MEMORY 2
#define CONTROLLER 3

// The last 64 samples for the control plane, eight words each, and how many there were: time, waiting time, bytes since the sample
// before, random bits, id, length, ids that are equal, ids that were compared.
register<bit<64>>(512) sample_words;
register<bit<32>>(1) samples;

// The shift that leaves at most 16 bits, and at most 32: there is no count of leading zeros.
control To16(in bit<64> value, out bit<8> shift) {
    apply {
        bit<64> rest = value;
        shift = 0;
#define STEP(n) if (rest >> (16 + n - 1) != 0) { rest = rest >> n; shift = shift + n; }
        STEP(32)
        STEP(16)
        STEP(8)
        STEP(4)
        STEP(2)
        STEP(1)
        // What is left of 17 bits.
        STEP(1)
    }
}

control To32(in bit<64> value, out bit<8> shift) {
    apply {
        bit<64> rest = value;
        shift = 0;
#define STEP32(n) if (rest >> (32 + n - 1) != 0) { rest = rest >> n; shift = shift + n; }
        STEP32(16)
        STEP32(8)
        STEP32(4)
        STEP32(2)
        STEP32(1)
        STEP32(1)
    }
}

// 32 random bits; their square where the packet is of ECT(1) and would be marked.
control Number(in bit<1> marks, in bit<2> ecn, out bit<64> u) {
    apply {
        bit<32> number;
        random(number, 0, 0xffff_ffff);
        u = (bit<64>) number;
        if (marks == 1 && ecn == 1) {
            u = (u * u) >> 34;
        }
    }
}

// How many of the ids of a block are equal, and how many it holds.
control Compare(in bit<32> block, in bit<32> id, in bit<32> all, inout bit<64> k, inout bit<64> c) {
    action look(bit<32> place) {
        bit<32> waiting;
        memory.read(waiting, block * 32 + place);
        k = k + (waiting == id ? 64w1 : 64w0);
    }
    apply {
#define LOOK4(n) look(n); look(n + 1); look(n + 2); look(n + 3);
        LOOK4(0)
        LOOK4(4)
        LOOK4(8)
        LOOK4(12)
        LOOK4(16)
        LOOK4(20)
        LOOK4(24)
        LOOK4(28)
        if (all >= IDS) {
            c = c + 32;
        } else {
            c = c + (bit<64>) (all >> BLOCKS_BITS);
            if (block < (all & ((1 << BLOCKS_BITS) - 1))) {
                c = c + 1;
            }
        }
    }
}

control Arrival(in bit<32> id, in bit<64> len, in bit<2> ecn, in bit<64> n, out bit<2> to, out bit<3> cause) {
    To16() allowed16;
    To16() limit16;
    To32() count32;
    Number() filter_number;
    Number() pie_number;
    Number() memory_number;
    Number() other_number;
    Compare() compare;
    bit<32> way;
    bit<1>  is_found;
    bit<64> suspect;

    action look(bit<32> place) {
        bit<24> tag;
        bit<40> bytes;
        suspect_id.read(tag, place);
        suspect_count.read(bytes, place);
        bool here = tag == id[23:0] && bytes != 0;
        way = here ? place : way;
        suspect = here ? (bit<64>) bytes : suspect;
        is_found = here ? 1w1 : is_found;
    }

    apply {
        to = QUEUE;
        cause = OVERFLOW;
        way = 0;
        is_found = 0;
        suspect = 0;
        bit<32> first = (id >> (32 - SETS_BITS)) << 3;
        look(first);
        look(first + 1);
        look(first + 2);
        look(first + 3);
        look(first + 4);
        look(first + 5);
        look(first + 6);
        look(first + 7);

        bit<64> weight;
        bit<64> base;
        bit<64> by_share;
        bit<64> per_size;
        bit<64> s;
        bit<64> may_mark;
        given.read(weight, G_WEIGHT);
        given.read(base, G_BASE);
        given.read(by_share, G_BY_SHARE);
        given.read(per_size, G_PER_SIZE);
        given.read(s, G_S);
        given.read(may_mark, G_ECN);
        bit<1> capable = 0;
        if (may_mark == 1 && ecn != 0) {
            capable = 1;
        }

        if (is_found == 1) {
            suspect = suspect + ((len * (weight >> 15)) >> 12);
            if (suspect > 0xff_ffff_ffff) {
                suspect = 0xff_ffff_ffff;
            }
            suspect_count.write(way, suspect[39:0]);
        }

        // parts(len)
        bit<64> size = (len * per_size) >> 16;
        if (size > 0x1_0000) {
            size = 0x1_0000;
        }
        bit<64> p = (base * size) >> 16;
        bit<64> b = p < by_share ? p : by_share;
        bit<64> rest = p - b;
        bit<1> base_marks = base < 0x4000_0000 ? capable : 1w0;

        if (n >= 2 && is_found == 1) {
            bit<64> allowed;
            bit<64> kept;
            bit<64> knee;
            bit<64> knee2;
            bit<64> spared;
            bit<64> most;
            given.read(allowed, G_ALLOWED);
            given.read(kept, G_KEPT);
            given.read(knee, G_KNEE);
            given.read(knee2, G_KNEE2);
            given.read(spared, G_SPARED);
            given.read(most, G_LIMIT);
            bit<1> hit = 0;
            bit<1> marks = 0;
            if (suspect > allowed) {
                pressed.write(0, 1);
                if (n >= spared) {
                    // excess(count)
                    bit<8> h;
                    allowed16.apply(allowed, h);
                    bit<64> a = allowed >> h;
                    bit<64> c = suspect >> h;
                    bit<64> below;
                    bit<64> of;
                    if (c << 16 < a * knee) {
                        bit<64> d = c > a ? c - a : 0;
                        below = (d * d) >> 2;
                        of = (a * a * knee2) >> 18;
                    } else {
                        count32.apply(suspect, h);
                        of = suspect >> h;
                        below = of - (kept >> h);
                    }
                    if (below << 16 < of * 5243) {
                        marks = capable;
                    }
                    bit<64> u;
                    filter_number.apply(marks, ecn, u);
                    if ((u * of) >> 32 < below) {
                        hit = 1;
                    }
                }
            }
            if (hit == 1 && marks == 0) {
                to = DROP;
                cause = FILTER;
            } else {
                // base_of(count)
                bit<1> falls = 0;
                if (b != 0 || rest != 0) {
                    bit<8> h;
                    limit16.apply(most, h);
                    bit<64> l = most >> h;
                    bit<64> c = (suspect < allowed ? suspect : allowed) >> h;
                    bit<64> u;
                    pie_number.apply(base_marks, ecn, u);
                    if (u < rest || (u - rest) * (l * l) < b * (c * c)) {
                        falls = 1;
                    }
                }
                if (falls == 1) {
                    to = base_marks == 1 ? (bit<2>) MARK : DROP;
                    cause = CONTROLLER;
                } else if (hit == 1) {
                    to = MARK;
                    cause = FILTER;
                }
            }
        } else if (n >= 2 && base != 0) {
            bit<64> k = 0;
            bit<64> c = 0;
            bit<32> block;
            bit<32> all;
            random(block, 0, (1 << BLOCKS_BITS) - 1);
            remembered.read(all, 0);
            compare.apply(block, id, all, k, c);
            bit<1> falls = 0;
            if (b * k != 0) {
                bit<64> u;
                memory_number.apply(base_marks, ecn, u);
                if (((u * s) >> 31) * c < b * k) {
                    falls = 1;
                    cause = MEMORY;
                }
            }
            if (falls == 0 && rest != 0) {
                bit<64> u;
                other_number.apply(base_marks, ecn, u);
                if (u < rest) {
                    falls = 1;
                    cause = CONTROLLER;
                }
            }
            if (falls == 1) {
                to = base_marks == 1 ? (bit<2>) MARK : DROP;
            }
        }
    }
}

control CollarIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    FlowId() flow;
    Arrival() arrival;

    action forward(bit<9> port) {
        standard.egress_spec = port;
    }
    action drop() {
        mark_to_drop(standard);
    }
    table ports {
        key = { hdr.ethernet.destination: exact; }
        actions = { forward; drop; }
        default_action = drop();
    }
    // Ports with the queue.
    table managed {
        key = { standard.egress_spec: exact; }
        actions = { NoAction; }
    }
    action count(bit<32> cause) {
        bit<32> value;
        counters.read(value, cause);
        counters.write(cause, value + 1);
    }

    apply {
        meta.is_queued = 0;
        ports.apply();
        if (hdr.ipv4.isValid() && managed.apply().hit) {
            bit<64> key;
            bit<64> buffer;
            bit<32> last;
            bit<32> first;
            given.read(key, G_KEY);
            given.read(buffer, G_BUFFER);
            admitted.read(last, 0);
            departed.read(first, 0);
            bit<64> n = (bit<64>) (last - first);
            flow.apply(hdr, key[31:0], meta.id);
            bit<2> to;
            bit<3> cause;
            arrival.apply(meta.id, (bit<64>) standard.packet_length, hdr.ipv4.ecn, n, to, cause);
            if (to == DROP) {
                count((bit<32>) cause);
                drop();
            } else if (n >= buffer) {
                count(OVERFLOW);
                drop();
            } else {
                if (to == MARK) {
                    hdr.ipv4.ecn = 3;
                    count((bit<32>) cause + 4);
                }
                meta.is_queued = 1;
                meta.arrived_ns = (bit<64>) standard.ingress_global_timestamp * 1000;
                admitted.write(0, last + 1);
            }
        }
    }
}

control CollarEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Compare() compare0;
    Compare() compare1;
    Compare() compare2;
    Compare() compare3;

    apply {
        if (meta.is_queued == 1) {
            bit<32> gone;
            departed.read(gone, 0);
            departed.write(0, gone + 1);
            int<34> left;
            until.read(left, 0);
            left = left - (int<34>) (bit<34>) standard.packet_length;
            until.write(0, left);
            if (left <= 0) {
                bit<64> bits;
                bit<32> high;
                bit<32> low;
                random(high, 0, 0xffff_ffff);
                random(low, 0, 0xffff_ffff);
                bits = high ++ low;
                bit<32> all;
                remembered.read(all, 0);
                // k of the c ids of four blocks.
                bit<32> block = (high >> (34 - BLOCKS_BITS)) << 2;
                bit<64> k = 0;
                bit<64> c = 0;
                compare0.apply(block, meta.id, all, k, c);
                compare1.apply(block + 1, meta.id, all, k, c);
                compare2.apply(block + 2, meta.id, all, k, c);
                compare3.apply(block + 3, meta.id, all, k, c);
                // remember(id)
                memory.write(((all & ((1 << BLOCKS_BITS) - 1)) << 5) + ((all >> BLOCKS_BITS) & 31), meta.id);
                remembered.write(0, all + 1 == 2 * IDS ? 32w0 + IDS : all + 1);
                bit<31> of;
                distance.read(of, 0);
                // Until the control plane gives the next distance, that of the last sample holds.
                until.write(0, (int<34>) (bit<34>) of);
                bit<32> number;
                samples.read(number, 0);
                bit<32> at = (number & 63) << 3;
                bit<64> now_ns = (bit<64>) standard.egress_global_timestamp * 1000;
                sample_words.write(at, now_ns);
                sample_words.write(at + 1, now_ns - meta.arrived_ns);
                sample_words.write(at + 2, (bit<64>) (bit<34>) ((int<34>) (bit<34>) of - left));
                sample_words.write(at + 3, bits);
                sample_words.write(at + 4, (bit<64>) meta.id);
                sample_words.write(at + 5, (bit<64>) standard.packet_length);
                sample_words.write(at + 6, k);
                sample_words.write(at + 7, c);
                samples.write(0, number + 1);
            }
        }
    }
}

V1Switch(PacketParser(), VerifyNothing(), CollarIngress(), CollarEgress(), UpdateChecksum(), PacketDeparser()) main;
