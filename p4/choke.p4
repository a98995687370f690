// CHOKe (R. Pan, B. Prabhakar, K. Psounis, INFOCOM 2000) on RED, for v1model.
// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A P4 program does not reach packets that wait, so it keeps what CHOKe has to know of them: a ring of flow ids with a mark bit each,
// in the order of the packets of a port. An arrival draws places of the ring; a packet whose flow is that of the arrival is marked, and
// dropped when its turn comes, at egress: the turn is wasted, which a queue that can discard its head does not do.
//
// Each register is written by one pipeline alone, since the two run side by side: ingress counts admitted and marked packets, egress
// departed and discarded ones. A packet that is marked while it is on its way out departs, and counts as marked until the queue is
// empty.

#include <core.p4>
#include <v1model.p4>

// Ports, and places of a ring: a power of two, above the depth of the switch's queue.
#define PORTS 16
#define PLACE_BITS 10
#define PLACES 1024
#define MOST_TRIES 3

struct metadata_t {
    bit<32> id;
    bit<32> place;
    bit<1>  is_queued;
    bit<16> min_th;
    bit<16> max_th;
    bit<48> spacing;
    bit<8>  weight_shift;
    bit<2>  candidates;
    bit<1>  drops_queued;
    bit<16> limit;
    bit<1>  ecn;
    bit<32> key;
}

#include "packets.p4"

// Ids and marks of all rings: place p of port n is at n * PLACES + p.
register<bit<32>>(PORTS * PLACES) ring_id;
register<bit<1>>(PORTS * PLACES) ring_mark;
// Packets of a port since its ring began anew; the ring is from `departed` to `admitted`.
register<bit<32>>(PORTS) admitted;
register<bit<32>>(PORTS) departed;
register<bit<32>>(PORTS) marked;
register<bit<32>>(PORTS) discarded;
// RED's average in 2^-32 packets, and packets since its last early drop.
register<bit<48>>(PORTS) average;
register<bit<16>>(PORTS) count;
// Dropped: 0 overflow, 1 early, 2 forced, 3 arriving match, 4 queued match; marked: 5 early, 6 forced.
register<bit<32>>(PORTS * 8) counters;

// One more of a cause.
control Count(in bit<32> port, in bit<32> cause) {
    apply {
        bit<32> value;
        counters.read(value, port * 8 + cause);
        counters.write(port * 8 + cause, value + 1);
    }
}

// A place in the ring drawn at random, whose packet is not marked; after MOST_TRIES no candidate. Numbers below `waiting` are
// equally likely: `random` of v1model takes bounds at run time.
control Draw(in bit<32> port, in bit<32> first, in bit<32> waiting, in bit<32> id, out bit<1> matches, out bit<32> place) {
    bit<1> is_found;

    action try_once() {
        bit<32> offset;
        random(offset, 0, waiting - 1);
        place = port * PLACES + ((first + offset) & (PLACES - 1));
        bit<1> is_marked;
        ring_mark.read(is_marked, place);
        is_found = ~is_marked;
    }

    apply {
        is_found = 0;
        matches = 0;
        place = 0;
        // No loops: MOST_TRIES times.
        try_once();
        if (is_found == 0) {
            try_once();
        }
        if (is_found == 0) {
            try_once();
        }
        if (is_found == 1) {
            bit<32> waiting_id;
            ring_id.read(waiting_id, place);
            if (waiting_id == id) {
                matches = 1;
            }
        }
    }
}

// The average after this arrival, from the packets that wait. Rounded down, as in the circuit (rtl/common/fairdrop_average.sv).
// An idle queue is not counted as empty samples: the step is a power of the idle time, for which there is no loop.
control Average(in bit<32> port, in bit<32> waiting, in bit<8> weight_shift, out bit<48> avg) {
    apply {
        average.read(avg, port);
        bit<48> sample = (bit<48>) waiting << 32;
        if (sample >= avg) {
            avg = avg + ((sample - avg) >> weight_shift);
        } else {
            avg = avg - ((avg - sample + ((48w1 << weight_shift) - 1)) >> weight_shift);
        }
        average.write(port, avg);
    }
}

// RED's decision (Floyd and Jacobson 1993) without a division: p_a = p_b / (1 - count p_b), and a random u in [0, 1) is below it when
// u (S - count d) < d, where d = avg - min_th and S = (max_th - min_th) / max_p, which the control plane computes.
control EarlyDrop(in bit<32> port, in bit<48> avg, in metadata_t meta, out bit<1> is_early, out bit<1> is_forced) {
    apply {
        bit<48> min_th = (bit<48>) meta.min_th << 32;
        bit<16> since;
        count.read(since, port);
        is_early = 0;
        is_forced = 0;
        if (avg < min_th) {
            since = 0;
        } else if (avg >= (bit<48>) meta.max_th << 32) {
            is_forced = 1;
            since = 0;
        } else {
            bit<32> number;
            random(number, 0, 0xffff_ffff);
            bit<96> d = (bit<96>) (avg - min_th);
            bit<96> gone = (bit<96>) since * d;
            bit<96> spacing = (bit<96>) meta.spacing;
            if (gone >= spacing || (bit<96>) number * (spacing - gone) < d << 32) {
                is_early = 1;
                since = 1;
            } else if (since != 0xffff) {
                since = since + 1;
            }
        }
        count.write(port, since);
    }
}

control ChokeIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    FlowId() flow;
    Draw() first_draw;
    Draw() second_draw;
    Average() red_average;
    EarlyDrop() red;
    Count() counted;

    action drop() {
        mark_to_drop(standard);
    }
    action forward(bit<9> port) {
        standard.egress_spec = port;
    }
    table ports {
        key = { hdr.ethernet.destination: exact; }
        actions = { forward; drop; }
        default_action = drop();
    }

    // `spacing` is (max_th - min_th) / max_p in 2^-32 packets, the average's weight 2^-weight_shift. Without drops_queued a match drops
    // the arrival alone: less protection, and no wasted turn.
    action set_parameters(bit<16> min_th, bit<16> max_th, bit<48> spacing, bit<8> weight_shift, bit<2> candidates, bit<1> drops_queued,
                          bit<16> limit, bit<1> ecn, bit<32> key) {
        meta.min_th = min_th;
        meta.max_th = max_th;
        meta.spacing = spacing;
        meta.weight_shift = weight_shift;
        meta.candidates = candidates;
        meta.drops_queued = drops_queued;
        meta.limit = limit;
        meta.ecn = ecn;
        meta.key = key;
    }
    table parameters {
        key = { standard.egress_spec: exact; }
        actions = { set_parameters; }
        // RED as of IEEE Micro 2001: thresholds of 30 and 60 packets, max_p of 1/10, weight of 2^-9.
        default_action = set_parameters(30, 60, 300 << 32, 9, 1, 1, 100, 0, 0);
    }

    // Marks the packet at a place, which an earlier draw may have marked.
    action mark_packet(bit<32> port, bit<32> place) {
        bit<1> was_marked;
        ring_mark.read(was_marked, place);
        ring_mark.write(place, 1);
        bit<32> total;
        marked.read(total, port);
        marked.write(port, total + (bit<32>) (~was_marked));
    }

    apply {
        meta.is_queued = 0;
        ports.apply();
        if (hdr.ipv4.isValid() && standard.egress_spec < PORTS) {
            parameters.apply();
            flow.apply(hdr, meta.key, meta.id);
            bit<32> port = (bit<32>) standard.egress_spec;
            bit<32> last;
            bit<32> first;
            bit<32> all_marked;
            bit<32> all_discarded;
            admitted.read(last, port);
            departed.read(first, port);
            marked.read(all_marked, port);
            discarded.read(all_discarded, port);
            bit<32> entries = last - first;
            bit<32> waiting = entries - (all_marked - all_discarded);
            if (entries == 0) {
                marked.write(port, all_discarded);
                waiting = 0;
            } else if (waiting > entries) {
                waiting = 0;
            }
            bit<48> avg;
            red_average.apply(port, waiting, meta.weight_shift, avg);

            bit<1> is_match = 0;
            if (waiting != 0 && avg >= (bit<48>) meta.min_th << 32 && meta.candidates != 0) {
                bit<1> first_matches;
                bit<1> second_matches = 0;
                bit<32> first_place;
                bit<32> second_place = 0;
                first_draw.apply(port, first, entries, meta.id, first_matches, first_place);
                if (meta.candidates > 1) {
                    second_draw.apply(port, first, entries, meta.id, second_matches, second_place);
                }
                if ((first_matches & meta.drops_queued) == 1) {
                    mark_packet(port, first_place);
                }
                if ((second_matches & meta.drops_queued) == 1) {
                    mark_packet(port, second_place);
                }
                is_match = first_matches | second_matches;
            }

            bit<1> is_early = 0;
            bit<1> is_forced = 0;
            if (is_match == 0) {
                red.apply(port, avg, meta, is_early, is_forced);
            }
            bit<1> may_mark = 0;
            if (meta.ecn == 1 && hdr.ipv4.ecn != 0) {
                may_mark = 1;
            }
            if (is_match == 1) {
                counted.apply(port, 3);
                drop();
            } else if ((is_early | is_forced) == 1 && may_mark == 0) {
                counted.apply(port, is_early == 1 ? 32w1 : 32w2);
                drop();
            } else if (entries >= (bit<32>) meta.limit || entries >= PLACES - 1) {
                counted.apply(port, 0);
                drop();
            } else {
                if ((is_early | is_forced) == 1) {
                    hdr.ipv4.ecn = 3;
                    counted.apply(port, is_early == 1 ? 32w5 : 32w6);
                }
                meta.place = port * PLACES + (last & (PLACES - 1));
                meta.is_queued = 1;
                ring_id.write(meta.place, meta.id);
                ring_mark.write(meta.place, 0);
                admitted.write(port, last + 1);
            }
        }
    }
}

// A packet's turn has come: a marked one is dropped.
control ChokeEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Count() counted;

    apply {
        if (meta.is_queued == 1) {
            bit<32> port = (bit<32>) standard.egress_port;
            bit<32> gone;
            departed.read(gone, port);
            departed.write(port, gone + 1);
            bit<1> is_marked;
            ring_mark.read(is_marked, meta.place);
            if (is_marked == 1) {
                bit<32> total;
                discarded.read(total, port);
                discarded.write(port, total + 1);
                counted.apply(port, 4);
                mark_to_drop(standard);
            }
        }
    }
}

V1Switch(PacketParser(), VerifyNothing(), ChokeIngress(), ChokeEgress(), UpdateChecksum(), PacketDeparser()) main;
