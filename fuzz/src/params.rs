//! Parameters from bytes: mostly within their ranges or at the ends, sometimes anything.

use arbitrary::{Result, Unstructured};
use fairdrop::{AnyParams, Kind, ParamSpec, ParamValue, info};

/// Parameters of the discipline called `name`; valid or not.
pub fn params(name: &str, bytes: &mut Unstructured) -> Result<AnyParams> {
    let mut params = AnyParams::of(name).expect("targets are called as disciplines are");
    let limit = if bytes.ratio(1, 16)? { bytes.arbitrary()? } else { bytes.int_in_range(0..=64)? };
    params.set_link(limit, bytes.arbitrary::<u32>()?.into());
    let own = info(name).expect("it is in the catalogue");
    for owner in [own.also_uses.and_then(info), Some(own)].into_iter().flatten() {
        let alone = if owner.name == own.name { &[][..] } else { owner.alone };
        for spec in owner.params.iter().filter(|spec| spec.name != "limit" && !alone.contains(&spec.name)) {
            if bytes.ratio(1, 3)? {
                set(&mut params, owner.name, spec, bytes)?;
            }
        }
    }
    Ok(params)
}

fn set(params: &mut AnyParams, owner: &str, spec: &ParamSpec, bytes: &mut Unstructured) -> Result<()> {
    let mut set = |value| {
        params.set(owner, spec.name, value);
    };
    match spec.kind {
        Kind::Integer(low, high) => set(ParamValue::Number(number(low as f64, high as f64, bytes)?.round())),
        Kind::Bytes(low, high) => set(ParamValue::Number(number(low as f64, high as f64, bytes)?.round())),
        Kind::Number(low, high)
        | Kind::NumberAbove(low, high)
        | Kind::Packets(low, high)
        | Kind::Seconds(low, high)
        | Kind::Rate(low, high) => set(ParamValue::Number(number(low, high, bytes)?)),
        Kind::Key => set(ParamValue::Key(bytes.arbitrary()?)),
        Kind::Switch => set(ParamValue::Switch(bytes.arbitrary()?)),
        Kind::Choice(words) => set(ParamValue::Word(bytes.choose(words)?)),
        Kind::Schedule(words, low, high) => {
            if bytes.arbitrary()? {
                set(ParamValue::Word(bytes.choose(words)?));
            } else {
                let mut counts: Vec<u8> = Vec::new();
                for _ in 0..bytes.int_in_range(0..=20)? {
                    counts.push(number(low as f64, high as f64, bytes)? as u8);
                }
                counts.sort_unstable();
                set(ParamValue::Counts(&counts));
            }
        }
        Kind::Numbers(most, low, high) => {
            let mut numbers = Vec::new();
            for _ in 0..bytes.int_in_range(0..=most + 1)? {
                numbers.push(number(low, high, bytes)?);
            }
            set(ParamValue::Numbers(&numbers));
        }
    }
    Ok(())
}

/// A number, mostly between the two.
fn number(low: f64, high: f64, bytes: &mut Unstructured) -> Result<f64> {
    let (near, far) = (low.max(-1e12), high.min(1e12));
    Ok(match bytes.int_in_range(0..=9)? {
        0 => low,
        1 => high,
        2 => bytes.arbitrary()?,
        3 => near + f64::from(bytes.arbitrary::<u8>()?) / 1e6,
        4..=6 => (near + f64::from(bytes.arbitrary::<u8>()?)).min(far),
        _ => near + (far - near) * f64::from(bytes.arbitrary::<u16>()?) / 65_535.0,
    })
}
