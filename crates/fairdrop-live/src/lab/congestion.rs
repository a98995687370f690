//! The congestion control of each group: its transport's, unless another of the kernel's is asked for by name.

use super::error::LabError;
use fairdrop_sim::RunResult;
use fairdrop_sim::scenario::Scenario;
use serde_json::{Map, Value as Json};

/// The congestion control of each group that is TCP, by the kernel's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Congestion(Vec<Option<String>>);

impl Congestion {
    /// That of the scenario's transports, or of `asked`, each `GROUP=NAME`.
    ///
    /// # Errors
    /// What is asked for is of no group of TCP flows.
    pub fn of(scenario: &Scenario, asked: &[String]) -> Result<Self, LabError> {
        let groups = &scenario.groups;
        let mut names: Vec<_> =
            groups.iter().map(|group| group.transport.tcp().map(|tcp| tcp.name.to_owned())).collect();
        for each in asked {
            let place = each.split_once('=').and_then(|(group, name)| {
                let place = groups.iter().position(|other| other.name == group.trim())?;
                let slot = names[place].as_mut()?;
                name.trim().clone_into(slot);
                Some(())
            });
            if place.is_none() {
                let tcp = groups.iter().filter(|group| group.transport.tcp().is_some());
                let tcp: Vec<_> = tcp.map(|group| &*group.name).collect();
                return Err(LabError::Refused(vec![format!(
                    "--congestion {each}: no group of TCP flows is called that; valid: GROUP=NAME, with a group among {}",
                    tcp.join(", ")
                )]));
            }
        }
        Ok(Self(names))
    }

    /// That of a group; `None` when it is not TCP.
    pub fn name(&self, group: usize) -> Option<&str> {
        self.0[group].as_deref()
    }

    /// By group, for the result.
    pub fn to_json(&self, scenario: &Scenario) -> Json {
        let groups = scenario.groups.iter().zip(&self.0);
        let of_group: Map<String, Json> =
            groups.filter_map(|(group, name)| Some((group.name.clone(), name.clone()?.into()))).collect();
        of_group.into()
    }

    /// Names the transports of a result by the controls that ran.
    pub fn rename(&self, result: &mut RunResult) {
        for (group, name) in result.groups.iter_mut().zip(&self.0) {
            let Some(name) = name else { continue };
            group.transport.clone_from(name);
            result
                .flows
                .iter_mut()
                .filter(|flow| flow.group == group.name)
                .for_each(|flow| flow.transport.clone_from(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_takes_the_place_of_the_transport() {
        let text = "[queue]\n[[groups]]\nname = \"a\"\ntransport = \"sack\"\n[[groups]]\nname = \"u\"\ntransport = \"cbr\"\nrate = 1000\n";
        let scenario = Scenario::parse(text, "test", &[]).unwrap();
        let of = |asked: &[&str]| {
            Congestion::of(&scenario, &asked.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]).unwrap().name(0), Some("sack"));
        let asked = of(&["a = bbr"]).unwrap();
        assert_eq!((asked.name(0), asked.name(1)), (Some("bbr"), None));
        assert_eq!(asked.to_json(&scenario).to_string(), r#"{"a":"bbr"}"#);
        for wrong in ["a", "b=bbr", "u=bbr"] {
            let error = of(&[wrong]).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("--congestion {wrong}: ")) && error.ends_with("among a"),
                "{error}"
            );
        }
    }
}
