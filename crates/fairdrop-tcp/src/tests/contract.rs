//! The contract of congestion controls: its declarations, and a control that leaves all optional methods out.

use super::super::congestion::{AckEvent, CongestionControl, Control, LossEvent, Window};
use super::super::infos;
use super::config_of;
use fairdrop::Time;

#[test]
fn every_transport_is_declared_in_full() {
    let mut names: Vec<_> = infos().map(|info| info.name).collect();
    for info in infos() {
        let words = [info.name, info.title, info.doc, info.source];
        assert!(words.iter().all(|text| !text.is_empty()), "something is left empty: {info:?}");
        assert!(info.doc.ends_with('.'), "{}: what it does is a sentence", info.name);
        let mut fields: Vec<_> = info.fields().map(|field| field.name).collect();
        let count = fields.len();
        fields.sort_unstable();
        fields.dedup();
        assert_eq!(fields.len(), count, "{}: each field once", info.name);
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "names differ: {names:?}");
}

/// RFC 5681, sections 3.1 and 3.2; RFC 3168, section 6.1.2.
#[test]
fn a_control_without_methods_is_reno() {
    #[derive(Debug)]
    struct Bare;
    impl CongestionControl for Bare {}

    let now = Time::from_ms(7);
    let ack = AckEvent {
        now,
        newly_acked: 5,
        delivered: 5,
        una: 5,
        next: 13,
        echo: false,
        marked: 0,
        one_way_delay: None,
        srtt: Time::ZERO,
        rtt: None,
        rate: None,
        max_window: 50.0,
    };
    let mut window = Window { cwnd: 7.0, ssthresh: 8.0 };
    Bare.on_ack(&ack);
    Bare.open_window(&mut window, &ack);
    assert_eq!(window, Window { cwnd: 8.0, ssthresh: 8.0 });
    Bare.open_window(&mut window, &ack);
    assert_eq!(window, Window { cwnd: 8.125, ssthresh: 8.0 });
    let loss = LossEvent { now, flight: 11.0, follows_echo: false, max_window: 50.0 };
    Bare.on_loss(&mut window, &loss);
    assert_eq!(window, Window { cwnd: 8.125, ssthresh: 5.5 });
    Bare.on_loss(&mut window, &LossEvent { flight: 3.0, follows_echo: true, ..loss });
    assert_eq!(window.ssthresh, 5.5);
    Bare.on_echo(&mut window, 3.0);
    assert_eq!(window.ssthresh, 2.0);
    assert!(!Bare.opens_when_limited() && !Bare.suspects_loss(now, 2) && !Bare.suspects_loss(now, 0));
}

#[test]
fn the_control_of_most_connections_takes_no_memory_of_its_own() {
    assert_eq!(size_of::<Control>(), size_of::<usize>());
    for transport in ["tahoe", "reno", "newreno", "sack"] {
        let control = config_of(transport, "").congestion.control();
        assert!(matches!(control, Control::Reno(_)), "{transport}: {control:?}");
    }
    assert!(matches!(config_of("cubic", "").congestion.control(), Control::Stateful(_)));
}
