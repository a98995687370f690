//! Flow names of packets of every link type and header chain.

use crate::common::*;
use fairdrop_capture::LinkType;

const WEB: &str = "tcp 10.0.0.1:80 > 10.0.0.2:5000";
const DNS6: &str = "udp [2001:db8::1]:53 > [2001:db8::2]:5000";

fn web4() -> Vec<u8> {
    ipv4(TCP, &ports(80, 5000))
}

fn dns6() -> Vec<u8> {
    ipv6(UDP, &ports(53, 5000))
}

fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

#[test]
fn vlan_tags_are_passed() {
    let single = ethernet(0x8100, &tagged(0x0800, &web4()));
    let double = ethernet(0x88a8, &tagged(0x8100, &tagged(0x86dd, &dns6())));
    let arp = ethernet(0x8100, &tagged(0x0806, &[0; 28]));
    assert_eq!(name_of(1, &single), WEB);
    assert_eq!(name_of(1, &double), DNS6);
    assert_eq!(name_of(1, &arp), "arp 02:00:00:00:00:0a");
    assert_eq!(name_of(1, &single[..16]), "unparsed");
}

#[test]
fn ethernet_encapsulations() {
    let snap = join(&[&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &web4()]);
    assert_eq!(name_of(1, &ethernet(36, &snap)), WEB);
    let stp = ethernet(38, &[0x42, 0x42, 3, 0]);
    assert_eq!(name_of(1, &stp), "stp 02:00:00:00:00:0a");
    let pppoe = join(&[&[0x11, 0, 0, 1, 0, 30, 0, 0x21], &web4()]);
    assert_eq!(name_of(1, &ethernet(0x8864, &pppoe)), WEB);
    let mpls = join(&[&[0, 1, 0, 64, 0, 2, 1, 64], &dns6()]);
    assert_eq!(name_of(1, &ethernet(0x8847, &mpls)), DNS6);
    let lldp = ethernet(0x88cc, &[0; 20]);
    assert_eq!(name_of(1, &lldp), "lldp 02:00:00:00:00:0a");
    let other = ethernet(0x1234, &[0; 20]);
    assert_eq!(name_of(1, &other), "ethertype-0x1234 02:00:00:00:00:0a");
}

#[test]
fn raw_ip() {
    for link in [12, 14, 101] {
        assert_eq!(name_of(link, &web4()), WEB);
        assert_eq!(name_of(link, &dns6()), DNS6);
        assert_eq!(name_of(link, &[0xf0; 40]), "unparsed");
    }
    assert_eq!(name_of(228, &web4()), WEB);
    assert_eq!(name_of(228, &dns6()), "unparsed");
    assert_eq!(name_of(229, &dns6()), DNS6);
}

#[test]
fn loopback_in_both_orders() {
    for link in [0, 108] {
        assert_eq!(name_of(link, &join(&[&[2, 0, 0, 0], &web4()])), WEB);
        assert_eq!(name_of(link, &join(&[&[0, 0, 0, 2], &web4()])), WEB);
        for family in [24, 28, 30] {
            assert_eq!(name_of(link, &join(&[&[family, 0, 0, 0], &dns6()])), DNS6);
            assert_eq!(name_of(link, &join(&[&[0, 0, 0, family], &dns6()])), DNS6);
        }
        assert_eq!(name_of(link, &[7, 0, 0, 0]), "family-7");
    }
}

#[test]
fn linux_cooked() {
    let head = [0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 0xa, 0, 0];
    assert_eq!(name_of(113, &join(&[&head, &[8, 0], &web4()])), WEB);
    let arp = join(&[&head, &[8, 6], &[0; 28]]);
    assert_eq!(name_of(113, &arp), "arp 02:00:00:00:00:0a");
    let tail = [0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 0xa, 0, 0];
    assert_eq!(name_of(276, &join(&[&[0x86, 0xdd], &tail, &dns6()])), DNS6);
    let arp = join(&[&[8, 6], &tail, &[0; 28]]);
    assert_eq!(name_of(276, &arp), "arp 02:00:00:00:00:0a");
    assert_eq!(name_of(276, &arp[..19]), "unparsed");
}

#[test]
fn ppp() {
    for link in [9, 50] {
        assert_eq!(name_of(link, &join(&[&[0xff, 3, 0, 0x21], &web4()])), WEB);
        assert_eq!(name_of(link, &join(&[&[0, 0x57], &dns6()])), DNS6);
        assert_eq!(name_of(link, &join(&[&[0x21], &web4()])), WEB);
        assert_eq!(name_of(link, &[0xff, 3, 0xc0, 0x21, 1]), "ppp-0xc021");
    }
}

#[test]
fn wifi_and_radiotap() {
    let addresses = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 3]].concat();
    let frame = |control: [u8; 2], extra: &[u8], payload: &[u8]| {
        join(&[&control, &[0, 0], &addresses, &[0, 0], extra, payload])
    };
    let snap = join(&[&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &web4()]);
    assert_eq!(name_of(105, &frame([0x08, 1], &[], &snap)), WEB);
    assert_eq!(name_of(105, &frame([0x88, 1], &[0, 0], &snap)), WEB);
    assert_eq!(name_of(105, &frame([0x08, 3], &[0; 6], &snap)), WEB);
    let secret = frame([0x08, 0x42], &[], &snap);
    assert_eq!(name_of(105, &secret), "wifi-data 02:00:00:00:00:03");
    let beacon = frame([0x80, 0], &[], &[]);
    assert_eq!(name_of(105, &beacon), "wifi-management 02:00:00:00:00:02");
    assert_eq!(name_of(105, &[0xd4, 0, 0, 0]), "wifi-control");
    let radiotap = join(&[&[0, 0, 10, 0, 0, 0, 0, 0, 0, 0], &frame([0x08, 1], &[], &snap)]);
    assert_eq!(name_of(127, &radiotap), WEB);
}

#[test]
fn unknown_link_types_share_a_flow() {
    let file = Pcap::new(MICRO, Order::Little, 189).packet((1, 0), &[1; 50]).packet((2, 0), &[]);
    let capture = five(&file.bytes);
    assert_eq!(names(&capture), ["link-type-189", "link-type-189"]);
    assert_eq!(capture.notes.unknown_link_type, 2);
    assert_eq!(capture.notes.non_ip_frames, 0);
    assert_eq!(capture.link_types[0].to_string(), "unknown (189)");
    assert_eq!(LinkType(276).to_string(), "LINUX_SLL2 (276)");
}

#[test]
fn protocols_without_ports_and_tunnels() {
    let flows = [(1, "icmp"), (47, "gre"), (4, "ipv4"), (50, "esp"), (200, "ip-protocol-200")];
    for (protocol, name) in flows {
        let packet = ipv4(protocol, &web4());
        assert_eq!(name_of(101, &packet), format!("{name} 10.0.0.1 > 10.0.0.2"));
    }
    assert_eq!(name_of(101, &ipv4(132, &ports(1, 2))), "sctp 10.0.0.1:1 > 10.0.0.2:2");
    let authentication = join(&[&[TCP, 4], &[0; 22], &ports(80, 5000)]);
    assert_eq!(name_of(101, &ipv4(51, &authentication)), WEB);
}

#[test]
fn ethernet_padding_is_not_a_transport_header() {
    let empty = ipv4(TCP, &[]);
    let padded = ethernet(0x0800, &join(&[&empty, &[9; 26]]));
    assert_eq!(name_of(1, &padded), "tcp 10.0.0.1 > 10.0.0.2");
    let mut offloaded = web4();
    offloaded[2..4].fill(0);
    assert_eq!(name_of(101, &offloaded), WEB);
}

#[test]
fn ipv6_extension_headers_in_any_order() {
    let hop = |next: u8| join(&[&[next, 0], &[0; 6]]);
    let long = |next: u8| join(&[&[next, 1], &[0; 14]]);
    let ah = |next: u8| join(&[&[next, 4], &[0; 22]]);
    let chain = join(&[&hop(60), &long(43), &hop(51), &ah(60), &hop(UDP), &ports(53, 5000)]);
    assert_eq!(name_of(101, &ipv6(0, &chain)), DNS6);
    let atomic = join(&[&[UDP, 0, 0, 0, 0, 0, 0, 9], &ports(53, 5000)]);
    assert_eq!(name_of(101, &ipv6(44, &atomic)), DNS6);
    let none = ipv6(59, &[]);
    assert_eq!(name_of(101, &none), "ip-protocol-59 2001:db8::1 > 2001:db8::2");
    let cut = ipv6(0, &[UDP, 200, 0, 0, 0, 0, 0, 0]);
    assert_eq!(name_of(101, &cut), "ip-protocol-0 2001:db8::1 > 2001:db8::2");
    let icmp = ipv6(58, &[128, 0, 0, 0]);
    assert_eq!(name_of(101, &icmp), "icmpv6 2001:db8::1 > 2001:db8::2");
}

#[test]
fn fragments_join_the_flow_of_the_first() {
    let first = ethernet(0x0800, &ipv4_part(UDP, (7, true, 0), &ports(53, 5000)));
    let later = ethernet(0x0800, &ipv4_part(UDP, (7, true, 1), &[0; 8]));
    let last = ethernet(0x0800, &ipv4_part(UDP, (7, false, 2), &[0; 8]));
    let stranger = ethernet(0x0800, &ipv4_part(UDP, (8, false, 2), &[0; 8]));
    let file = Pcap::ethernet()
        .packet((1, 0), &last)
        .packet((1, 0), &first)
        .packet((1, 0), &later)
        .packet((1, 0), &stranger)
        .packet((1, 0), &last)
        .packet((62, 0), &last);
    let capture = five(&file.bytes);
    let (known, unknown) = ("udp 10.0.0.1:53 > 10.0.0.2:5000", "udp 10.0.0.1 > 10.0.0.2");
    assert_eq!(names(&capture), [unknown, known, known, unknown, known, unknown]);
    assert_eq!(capture.notes.fragments_without_ports, 3);
    assert_eq!(capture.notes.ports_cut, 0);
}

#[test]
fn ipv6_fragments_follow_the_first_whatever_they_name() {
    let part = |next: u8, offset: u8, more: u8, payload: &[u8]| {
        let header = [next, 0, 0, offset << 3 | more, 0, 0, 0, 5];
        ipv6(44, &join(&[&header, payload]))
    };
    let options = join(&[&[UDP, 0], &[0; 6], &ports(53, 5000)]);
    let file = Pcap::new(MICRO, Order::Little, 101)
        .packet((1, 0), &part(60, 0, 1, &options))
        .packet((1, 0), &part(60, 2, 1, &[0; 8]))
        .packet((1, 0), &part(UDP, 3, 0, &[0; 8]));
    let capture = five(&file.bytes);
    assert_eq!(names(&capture), [DNS6, DNS6, DNS6]);
    assert_eq!(capture.notes.warnings(), [""; 0]);
}

#[test]
fn fragments_behind_an_authentication_header() {
    let authentication = join(&[&[TCP, 4], &[0; 22], &ports(80, 5000)]);
    let file = Pcap::new(MICRO, Order::Little, 101)
        .packet((1, 0), &ipv4_part(51, (3, true, 0), &authentication))
        .packet((1, 0), &ipv4_part(51, (3, false, 4), &[0; 40]));
    assert_eq!(names(&five(&file.bytes)), [WEB, WEB]);
}
