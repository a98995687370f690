// Packets and flows of both programs, for v1model.
// SPDX-License-Identifier: MIT OR Apache-2.0

typedef bit<48> mac_t;

header ethernet_t {
    mac_t   destination;
    mac_t   source;
    bit<16> type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  header_words;
    bit<6>  dscp;
    bit<2>  ecn;
    bit<16> length;
    bit<16> identification;
    bit<3>  flags;
    bit<13> fragment;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

// The first four bytes of TCP and UDP.
header ports_t {
    bit<16> source;
    bit<16> destination;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    ports_t    ports;
}

parser PacketParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0800: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        // Fragments after the first have no ports, and options would have to be skipped: their flow is the pair of addresses.
        transition select(hdr.ipv4.header_words, hdr.ipv4.fragment, hdr.ipv4.protocol) {
            (5, 0, 6): ports;
            (5, 0, 17): ports;
            default: accept;
        }
    }
    state ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

control PacketDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
    }
}

control VerifyNothing(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

// A mark by ECN changes the header's checksum.
control UpdateChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(
            hdr.ipv4.isValid() && hdr.ipv4.header_words == 5,
            { hdr.ipv4.version, hdr.ipv4.header_words, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.length, hdr.ipv4.identification,
              hdr.ipv4.flags, hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.source, hdr.ipv4.destination },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

// The id of the packet's flow: 32 bits of a hash of addresses, protocol and ports. v1model has no keyed hash; a random number that the
// control plane writes once stands in for a key, and does not keep a sender from finding colliding flows (CRC-32 is linear).
control FlowId(in headers_t hdr, in bit<32> key, out bit<32> id) {
    apply {
        bit<16> from = 0;
        bit<16> to = 0;
        if (hdr.ports.isValid()) {
            from = hdr.ports.source;
            to = hdr.ports.destination;
        }
        hash(id, HashAlgorithm.crc32, 32w0, { key, hdr.ipv4.source, hdr.ipv4.destination, hdr.ipv4.protocol, from, to },
             64w0x1_0000_0000);
        if (id == 0) {
            id = 1;
        }
    }
}
