//! Settings of the hosts' namespaces: those of every run, and those that a run asks for beside them.

use super::error::LabError;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Settings by name, under /proc/sys/net. A namespace has its own; the machine's stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctls(BTreeMap<String, String>);

/// Those of every run. Those of IPv6 may be missing. As in the simulator nobody gives up: what keeps trying is the
/// scenario's to stop.
const ALWAYS: [(&str, &str); 11] = [
    ("ipv6/conf/all/disable_ipv6", "1"),
    ("ipv6/conf/default/disable_ipv6", "1"),
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv4/tcp_ecn", "2"),
    ("ipv4/tcp_timestamps", "1"),
    ("ipv4/tcp_max_syn_backlog", "4096"),
    ("ipv4/tcp_syn_retries", "127"),
    ("ipv4/tcp_synack_retries", "255"),
    ("ipv4/tcp_retries2", "255"),
];

impl Sysctls {
    /// Those of every run, and `asked`, each `net.ipv4.NAME=VALUE`, which go before them.
    ///
    /// # Errors
    /// What is asked for is no setting of TCP over IPv4.
    pub fn of(asked: &[String]) -> Result<Self, LabError> {
        let mut all: BTreeMap<_, _> =
            ALWAYS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        for each in asked {
            let parts = each.split_once('=').and_then(|(name, value)| {
                let name = name.strip_prefix("net.ipv4.")?;
                let plain =
                    |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
                (name.starts_with("tcp_") && name.chars().all(plain)).then_some((name, value))
            });
            let Some((name, value)) = parts else {
                return Err(LabError::Refused(vec![format!(
                    "--sysctl {each}: no setting of TCP; valid: net.ipv4.tcp_NAME=VALUE, such as net.ipv4.tcp_sack=0"
                )]));
            };
            all.insert(format!("ipv4/{name}"), value.to_owned());
        }
        Ok(Self(all))
    }

    /// Sets them in this thread's namespace.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set(&self) -> Result<(), LabError> {
        for (name, value) in &self.0 {
            let path = Path::new("/proc/sys/net").join(name);
            if let Err(error) = fs::write(&path, value)
                && !name.starts_with("ipv6")
            {
                return Err(LabError::Setting {
                    what: format!("{}={value}", path.display()),
                    why: error.to_string(),
                });
            }
        }
        Ok(())
    }

    /// By name, for the result.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_goes_before_what_is_always_set() {
        let of = |asked: &[&str]| Sysctls::of(&asked.iter().map(ToString::to_string).collect::<Vec<_>>());
        let plain = of(&[]).unwrap();
        assert_eq!((plain.0.len(), &*plain.0["ipv4/tcp_timestamps"]), (ALWAYS.len(), "1"));
        let asked = of(&["net.ipv4.tcp_timestamps=0", "net.ipv4.tcp_sack=0"]).unwrap();
        assert_eq!((asked.0.len(), &*asked.0["ipv4/tcp_timestamps"]), (ALWAYS.len() + 1, "0"));
        for wrong in
            ["net.ipv4.tcp_sack", "net.core.rmem_max=1", "net.ipv4.tcp_../../../kernel/x=1", "tcp_sack=0"]
        {
            let error = of(&[wrong]).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("--sysctl {wrong}: "))
                    && error.contains("net.ipv4.tcp_NAME=VALUE")
            );
        }
    }
}
