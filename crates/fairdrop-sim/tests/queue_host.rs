//! The network-free queue host against theory, and CHOKe against RED on the same random streams.

use fairdrop::disciplines::choke_service::Place;
use fairdrop::{
    AnyParams, CakeParams, Candidates, ChokeParams, ChokeServiceParams, CobaltParams, DrawFrom,
    DropTailParams, RedParams, Time,
};
use fairdrop_sim::{Arrivals, Control, HostConfig, HostResult, campaign, queue_host};

/// Front CHOKe in its model form (Pan, Prabhakar, Psounis 2000, IV.A): no thresholds, no early drops, a buffer that
/// never fills; the candidate is the packet at the head, in service.
fn front_model() -> AnyParams {
    let red =
        RedParams { limit: 1 << 16, min_th: 0.0, max_th: f64::INFINITY, max_p: 0.0, ..RedParams::default() };
    let candidates = Candidates::Fixed(1);
    AnyParams::Choke(ChokeParams { red, candidates, draw: DrawFrom::Head, ..ChokeParams::default() })
}

fn simulate(rates: &[f64], arrivals: u64, params: AnyParams) -> HostResult {
    let sources = rates.iter().map(|&rate| Arrivals::Poisson(rate)).collect();
    let config = HostConfig { sources, service_rate: 1.0, arrivals, params, seed: 7 };
    queue_host(&config, &Control::default()).expect("the parameters are valid").expect("nothing stops it")
}

/// Table II of the paper: every row against `p_i = lambda_i / (mu + 2 lambda_i)`, `T_i = mu p_i` and
/// `P0 = 1 - sum p_i`, to three digits. Over 1.6e7 mean service times a count of served packets has a standard deviation
/// below 1.7e-4.
#[test]
fn front_choke_reproduces_table_ii() {
    let rows: [&[f64]; 8] = [
        &[0.5, 1.0],
        &[1.0, 2.0],
        &[2.0, 3.0],
        &[3.0, 4.0],
        &[3.0, 5.0],
        &[3.0, 6.0],
        &[0.3, 0.6, 0.9],
        &[0.5, 1.0, 1.5],
    ];
    let results = campaign::run_all(&rows, None, &Control::default(), |rates| {
        let arrivals = 1.6e7 * rates.iter().sum::<f64>();
        Some((*rates, simulate(rates, arrivals as u64, front_model())))
    });
    for (rates, result) in results.into_iter().flatten() {
        let theory: Vec<f64> = rates.iter().map(|rate| rate / (1.0 + 2.0 * rate)).collect();
        let empty = 1.0 - theory.iter().sum::<f64>();
        assert!(
            (result.empty_fraction - empty).abs() < 5e-4,
            "{rates:?}: P0 {} for {empty}",
            result.empty_fraction
        );
        for (flow, goodput) in theory.iter().enumerate() {
            let measured = result.served[flow] as f64 / result.duration_s;
            assert!((measured - goodput).abs() < 5e-4, "{rates:?}: T{} {measured} for {goodput}", flow + 1);
        }
        for flow in 0..rates.len() {
            let gone = result.served[flow] + result.dropped[flow] + result.left[flow];
            assert_eq!(result.arrived[flow], gone, "conservation of flow {flow}");
            assert_eq!(result.dropped[flow] % 2, 0, "packets are dropped in pairs");
        }
    }
}

/// M/M/1: mean number in system rho / (1 - rho).
#[test]
fn droptail_is_m_m_1() {
    let result = simulate(&[0.3, 0.2], 20_000_000, AnyParams::DropTail(DropTailParams { limit: 1 << 16 }));
    assert!((result.mean_packets - 1.0).abs() < 0.01, "{}", result.mean_packets);
    assert!((result.empty_fraction - 0.5).abs() < 1e-3, "{}", result.empty_fraction);
}

/// Where candidate and service come from the same place, the law is that of Front CHOKe, wherever that is (Pan, Prabhakar,
/// Psounis 2000, IV.A and IV.B): to a thousandth. Where they do not, it is not.
#[test]
fn symmetric_orders_of_service_have_the_goodput_of_front_choke() {
    let places = [Place::Uniform, Place::Head, Place::Tail];
    let orders: Vec<_> =
        places.iter().flat_map(|&draw| places.iter().map(move |&serve| (draw, serve))).collect();
    let AnyParams::Choke(ChokeParams { red, .. }) = front_model() else { unreachable!("made above") };
    let rates = [0.5, 1.0, 1.5];
    let results = campaign::run_all(&orders, None, &Control::default(), |&(draw, serve)| {
        let params = AnyParams::ChokeService(ChokeServiceParams { red: red.clone(), draw, serve });
        let result = simulate(&rates, 8_000_000, params);
        Some((draw, serve, result))
    });
    for (draw, serve, result) in results.into_iter().flatten() {
        let farthest = rates
            .iter()
            .zip(&result.served)
            .map(|(rate, &served)| (served as f64 / result.duration_s - rate / (1.0 + 2.0 * rate)).abs());
        let farthest = farthest.fold(0.0, f64::max);
        if draw == serve {
            assert!(farthest < 1e-3, "{draw:?}: {farthest}");
        } else {
            assert!(farthest > 5e-3, "candidate {draw:?}, service {serve:?}: {farthest}");
        }
    }
}

/// A server of 1000 packets a second behind a shaper that lets 64 packets of a byte through: 64 a second are served. With one that
/// lets 10,000 through it is what it is without.
#[test]
fn a_shaper_holds_back_what_was_served() {
    let served = |rate: f64| {
        let cobalt =
            CobaltParams { limit: 1000, target: Time::from_ms(1_000_000), ..CobaltParams::default() };
        let params = AnyParams::Cake(CakeParams { cobalt, rate, ..CakeParams::default() });
        let sources = vec![Arrivals::Poisson(500.0)];
        let config = HostConfig { sources, service_rate: 1000.0, arrivals: 50_000, params, seed: 7 };
        let result = queue_host(&config, &Control::default()).expect("valid").expect("nothing stops it");
        assert_eq!(result.arrived[0], result.served[0] + result.dropped[0] + result.left[0]);
        result.served[0] as f64 / result.duration_s
    };
    assert!((served(512.0) - 64.0).abs() < 0.1, "{}", served(512.0));
    assert!((served(80_000.0) - served(0.0)).abs() < 0.5, "{} and {}", served(80_000.0), served(0.0));
}

/// Random candidates and random service have the same law as Front CHOKe; random candidates with FIFO service
/// do not (choke-c4): the slower flow then gets more than the front formula says.
#[test]
fn the_draw_matters() {
    let AnyParams::Choke(front) = front_model() else { unreachable!("made above") };
    let uniform = AnyParams::Choke(ChokeParams { draw: DrawFrom::Uniform, ..front });
    let result = simulate(&[0.5, 1.0, 1.5], 5_000_000, uniform);
    let slowest = result.served[0] as f64 / result.duration_s;
    assert!(slowest > 0.26, "T1 {slowest}, 0.25 by the front formula");
}
