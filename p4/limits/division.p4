// A division whose divisor is known at run time only: COLLAR's pace of the link, in ns per byte. The compiler has to refuse it.
// SPDX-License-Identifier: MIT OR Apache-2.0

#include <core.p4>
#include <v1model.p4>

struct metadata_t {}
struct headers_t {}

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        transition accept;
    }
}
control V(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<64>>(2) sums;
    apply {
        bit<64> ns;
        bit<64> bytes;
        sums.read(ns, 0);
        sums.read(bytes, 1);
        sums.write(0, ns / bytes);
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {}
}
control D(packet_out packet, in headers_t hdr) {
    apply {}
}
V1Switch(P(), V(), I(), E(), V(), D()) main;
