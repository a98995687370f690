//! Parameters by name: `set` stores and `validate` checks the values of every discipline's table.

use fairdrop::{
    AnyParams, CATALOGUE, Candidates, ChokeParams, CsfqParams, DisciplineInfo, FqParams, Kind, ParamSpec,
    ParamValue as Value, RedParams, RedPdParams, Registered, Time, Valid,
};

/// Defaults, but with the schedule and the sampling that `regions` and `cell_size` are about.
fn params_for(owner: &DisciplineInfo, spec: &ParamSpec) -> AnyParams {
    let mut params = AnyParams::of(owner.name).expect("a discipline of the catalogue");
    match spec.name {
        "regions" => params.set(owner.name, "schedule", Value::Word("even")),
        "cell_size" => params.set(owner.name, "sampling", Value::Word("cell")),
        _ => true,
    };
    params
}

/// Ends of the range of numbers, and how near to them the next number lies that the parameter can hold.
fn range(kind: Kind) -> Option<(f64, f64, f64)> {
    match kind {
        Kind::Integer(low, high) => Some((low as f64, high as f64, 1.0)),
        Kind::Bytes(low, high) => Some((low as f64, high as f64, 1.0)),
        Kind::Number(low, high) | Kind::Packets(low, high) | Kind::Seconds(low, high) => {
            Some((low, high, 1e-9))
        }
        Kind::Rate(low, high) => Some((low, high, 1.0)),
        Kind::NumberAbove(low, high) => Some((low + 1e-9, high, 1e-9)),
        Kind::Key | Kind::Switch | Kind::Choice(_) | Kind::Schedule(..) | Kind::Numbers(..) => None,
    }
}

/// Values of the kind, each of which means something else.
fn examples(spec: &ParamSpec) -> Vec<Value<'static>> {
    match spec.kind {
        Kind::Key => vec![Value::Number(1.0), Value::Key(1 << 32), Value::Word("0xffffffffffffffff")],
        Kind::Switch => vec![Value::Switch(false), Value::Switch(true)],
        Kind::Choice(words) => words.iter().map(|&word| Value::Word(word)).collect(),
        Kind::Schedule(words, ..) => {
            let words = words.iter().map(|&word| Value::Word(word));
            words.chain([Value::Counts(&[1, 4, 7, 9]), Value::Counts(&[2])]).collect()
        }
        Kind::Numbers(..) => vec![Value::Numbers(&[1.0]), Value::Numbers(&[2.0, 3.0])],
        kind => {
            let (low, _, _) = range(kind).expect("a number");
            vec![Value::Number(low + 1.0), Value::Number(low + 2.0)]
        }
    }
}

#[test]
fn each_name_stores_its_own_parameter() {
    for info in CATALOGUE {
        let mut seen = Vec::new();
        for spec in info.params {
            let before = params_for(info, spec);
            let stored: Vec<AnyParams> = examples(spec)
                .into_iter()
                .map(|value| {
                    let mut params = before.clone();
                    assert!(
                        params.set(info.name, spec.name, value),
                        "{}.{} = {value:?}",
                        info.name,
                        spec.name
                    );
                    params
                })
                .collect();
            for (i, params) in stored.iter().enumerate() {
                assert!(!stored[i + 1..].contains(params), "{}.{}: {params:?} twice", info.name, spec.name);
            }
            // Another name of the discipline never stores the same field.
            let changed: Vec<AnyParams> = stored.into_iter().filter(|params| *params != before).collect();
            if spec.alias.is_some() {
                continue;
            }
            for params in &changed {
                assert!(!seen.contains(params), "{}.{}: {params:?}", info.name, spec.name);
            }
            seen.extend(changed);
        }
    }
}

/// Another name of a parameter stores that parameter, over the same range, and has no default.
#[test]
fn another_name_stores_the_parameter_that_it_names() {
    let aliases = CATALOGUE
        .iter()
        .flat_map(|info| info.params.iter().filter_map(move |spec| Some((info, spec, spec.alias?))));
    let mut seen = Vec::new();
    for (info, spec, alias) in aliases {
        let named = info.params.iter().find(|other| other.name == alias.of).expect("it is there");
        let (Some((low, high, _)), Some((first, last, _))) = (range(spec.kind), range(named.kind)) else {
            panic!("{}: numbers", spec.name)
        };
        assert_eq!((alias.value_of(low), alias.value_of(high)), (first, last), "{}", spec.name);
        assert_eq!((spec.default, spec.unit), ("", named.unit), "{}", spec.name);
        for value in [low, low + 1.0, high] {
            let (mut one, mut other) = (params_for(info, spec), params_for(info, spec));
            assert!(one.set(info.name, spec.name, Value::Number(value)));
            assert!(other.set(info.name, alias.of, Value::Number(alias.value_of(value))));
            assert_eq!(one, other, "{} = {value}", spec.name);
        }
        seen.push((info.name, spec.name, alias.of));
    }
    assert_eq!(seen, [("choke", "drops", "candidates")]);
}

/// "CHOKe with m - 1 candidates will be referred to as CHOKe with drop m" (Pan et al. 2000, III.C): basic CHOKe is drop 2.
#[test]
fn drop_m_is_one_candidate_less() {
    for (drops, candidates) in [(1.0, 0), (2.0, 1), (5.0, 4), (33.0, 32)] {
        let mut params = AnyParams::of("choke").expect("a discipline of the catalogue");
        assert!(params.set("choke", "drops", Value::Number(drops)));
        let candidates = Candidates::Fixed(candidates);
        assert_eq!(params, AnyParams::Choke(ChokeParams { candidates, ..ChokeParams::default() }));
    }
}

#[test]
fn values_of_another_kind_and_unknown_names_are_refused() {
    for info in CATALOGUE {
        let defaults = AnyParams::of(info.name).expect("a discipline of the catalogue");
        for spec in info.params {
            let wrong = match spec.kind {
                Kind::Switch => Value::Number(1.0),
                _ => Value::Switch(true),
            };
            let mut params = defaults.clone();
            assert!(!params.set(info.name, spec.name, wrong), "{}.{}", info.name, spec.name);
            assert!(
                !params.set(info.name, spec.name, Value::Word("no such word")),
                "{}.{}",
                info.name,
                spec.name
            );
            assert_eq!(params, defaults, "{}.{}", info.name, spec.name);
        }
        let mut params = defaults.clone();
        assert!(!params.set(info.name, "no_such_name", Value::Number(1.0)));
        assert!(!params.set("no_such_discipline", "min_th", Value::Number(1.0)));
        assert_eq!(params, defaults);
    }
}

/// The parameters of another discipline that this one has are reached by that one's name.
#[test]
fn shared_parameters_have_the_name_of_their_owner() {
    for info in CATALOGUE {
        for owner in CATALOGUE.iter().filter(|owner| owner.name != info.name) {
            for spec in owner.params {
                let mut params = AnyParams::of(info.name).expect("a discipline of the catalogue");
                let defaults = params.clone();
                let mut changes = false;
                for value in examples(spec) {
                    let shared = info.also_uses == Some(owner.name) && !owner.alone.contains(&spec.name);
                    assert_eq!(
                        params.set(owner.name, spec.name, value),
                        shared,
                        "{}: {}",
                        info.name,
                        spec.name
                    );
                    changes |= params != defaults;
                }
                let shared = info.also_uses == Some(owner.name) && !owner.alone.contains(&spec.name);
                assert_eq!(changes, shared, "{}: {}", info.name, spec.name);
            }
        }
    }
}

/// Ends of a range that are refused with the other parameters at their defaults, as one must be above another.
const REFUSED_ENDS: [(&str, &str); 13] = [
    ("red.min_th = inf", "min_th"),
    ("red.max_th = 0", "max_th"),
    ("chokew.l_th = inf", "l_th"),
    ("chokew.l_minus = 0", "l_minus"),
    ("chokew.l_minus = inf", "l_plus"),
    ("chokew.l_plus = 0", "l_plus"),
    ("rio.min_th_in = inf", "min_th_in"),
    ("rio.max_th_in = 0", "max_th_in"),
    ("sfb.warm_up = 86400", "warm_up"),
    ("red_pd.lists = 1", "appearances"),
    ("red_pd.appearances = 8", "appearances"),
    ("flow_valve.back_off = 1000", "forget_after"),
    ("flow_valve.forget_after = 0", "forget_after"),
];

/// Both ends of the range of the table are valid, unless a rule between parameters refuses them, and what is just outside is refused by the parameter's name.
#[test]
fn the_range_of_the_table_is_the_range_that_is_checked() {
    let mut refused = Vec::new();
    for info in CATALOGUE {
        for spec in info.params {
            let Some((low, high, step)) = range(spec.kind) else { continue };
            let name = format!("{}.{}", info.name, spec.name);
            let with = |value: f64| {
                let mut params = params_for(info, spec);
                assert!(params.set(info.name, spec.name, Value::Number(value)));
                params
            };
            for end in [low, high] {
                assert!(spec.kind.accepts(Value::Number(end)), "{name} = {end}");
                if let Err(problem) = with(end).validate() {
                    assert!(matches!(problem.valid, Valid::Rule(_)), "{name} = {end}: {problem}");
                    refused.push((format!("{name} = {end}"), problem.name));
                }
            }
            let above = if high < 1e9 { high + step } else { high * 1.001 };
            for (outside, end) in [(low - step, low), (above, high)] {
                // Where the field cannot hold the value, or the range has no end.
                if with(outside) == with(end) || !end.is_finite() {
                    continue;
                }
                assert!(!spec.kind.accepts(Value::Number(outside)), "{name} = {outside}");
                match with(outside).validate() {
                    Ok(()) => panic!("{name} = {outside} is taken"),
                    // The regions are those of the schedule.
                    Err(problem) if spec.name == "regions" => assert_eq!(problem.name, "schedule"),
                    Err(problem) => {
                        assert_eq!(
                            problem.name,
                            spec.alias.map_or(spec.name, |alias| alias.of),
                            "{name} = {outside}"
                        );
                    }
                }
            }
        }
    }
    let refused: Vec<_> = refused.iter().map(|(what, name)| (what.as_str(), *name)).collect();
    let valid: Vec<_> = REFUSED_ENDS.iter().filter(|end| !refused.contains(end)).collect();
    assert!(valid.is_empty(), "{valid:?}");
}

#[test]
fn the_link_sets_the_limit_and_the_time_of_a_packet() {
    for info in CATALOGUE {
        let mut params = AnyParams::of(info.name).expect("a discipline of the catalogue");
        params.set_link(77, 8_000_000);
        assert_eq!(params.limit(), 77, "{}", info.name);
        match params {
            AnyParams::Fq(FqParams { rate_bps, .. }) | AnyParams::Csfq(CsfqParams { rate_bps, .. }) => {
                assert_eq!(rate_bps, 8_000_000);
            }
            _ => {}
        }
    }
    let mut red = RedParams { mean_packet_size: 500, ..RedParams::default() };
    // 4,000 bits at 8 Mbit/s.
    for (rate_bps, ns) in
        [(8_000_000, 500_000), (1, 4_000_000_000_000), (0, 4_000_000_000_000), (u64::MAX, 1)]
    {
        red.set_link_rate(rate_bps);
        assert_eq!(red.mean_packet_time, Time::from_ns(ns), "{rate_bps} bit/s");
    }
    let mut params = AnyParams::of("red_pd").expect("a discipline of the catalogue");
    params.set_link(77, 16_000_000);
    let AnyParams::RedPd(RedPdParams { red, .. }) = params else { unreachable!() };
    assert_eq!(red.mean_packet_time, Time::from_ns(u64::from(red.mean_packet_size) * 500));
}

/// Another number of regions is another schedule of the same rule; "two" and lists stay as they are.
#[test]
fn only_a_rule_has_another_number_of_regions() {
    for (schedule, changes) in [("two", false), ("odd", true), ("even", true)] {
        let mut params = AnyParams::of("choke").expect("a discipline of the catalogue");
        assert!(params.set("choke", "schedule", Value::Word(schedule)));
        let before = params.clone();
        assert!(params.set("choke", "regions", Value::Number(5.0)));
        assert_eq!(params != before, changes, "{schedule}");
    }
}

/// Linux draws over the whole ring of one queue.
#[test]
fn addresses_as_in_linux_need_one_bank_and_one_fifo() {
    let params = |addresses, banks, fifos| {
        let mut params = AnyParams::of("choke_hardware").expect("a discipline of the catalogue");
        let values = [
            ("addresses", Value::Word(addresses)),
            ("banks", Value::Number(banks)),
            ("fifos", Value::Number(fifos)),
        ];
        for &(name, value) in &values {
            assert!(params.set("choke_hardware", name, value));
        }
        params.validate().map_err(|problem| problem.name)
    };
    assert_eq!(params("linux", 1.0, 1.0), Ok(()));
    assert_eq!(params("linux", 2.0, 1.0), Err("banks"));
    assert_eq!(params("linux", 1.0, 2.0), Err("fifos"));
    assert_eq!(params("live", 2.0, 2.0), Ok(()));
}

#[test]
fn thresholds_that_are_equal_are_refused() {
    let equal = [
        ("red", "min_th", "max_th", "max_th"),
        ("chokew", "l_th", "l_minus", "l_minus"),
        ("chokew", "l_minus", "l_plus", "l_plus"),
        ("rio", "min_th_in", "max_th_in", "max_th_in"),
    ];
    for (discipline, low, high, refused) in equal {
        let mut params = AnyParams::of(discipline).expect("a discipline of the catalogue");
        for name in &[low, high] {
            assert!(params.set(discipline, name, Value::Number(120.0)));
        }
        assert_eq!(params.validate().map_err(|problem| problem.name), Err(refused), "{discipline}");
    }
}

#[test]
fn a_queue_for_no_packet_is_refused() {
    for info in CATALOGUE {
        let mut params = AnyParams::of(info.name).expect("a discipline of the catalogue");
        params.set_link(0, 8_000_000);
        assert_eq!(params.validate().map_err(|problem| problem.name), Err("limit"), "{}", info.name);
        params.set_link(1000, 8_000_000);
        assert_eq!(params.validate(), Ok(()), "{}", info.name);
    }
}

#[test]
fn a_link_without_a_rate_is_refused() {
    let none = [
        FqParams { rate_bps: 0, ..FqParams::default() }.validate(),
        CsfqParams { rate_bps: 0, ..CsfqParams::default() }.validate(),
    ];
    for result in &none {
        assert_eq!(result.map_err(|problem| problem.name), Err("rate_bps"));
    }
    assert_eq!(FqParams { rate_bps: 1, ..FqParams::default() }.validate(), Ok(()));
}
