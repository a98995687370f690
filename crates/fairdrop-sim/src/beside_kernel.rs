//! Recordings of the kernel beside the simulated sender.

use crate::scenario::Scenario;

/// Plays `recording` against the sender of `transport` with `era = "linux"` and `settings` (`field=value`). Returns, as CSV, a line
/// for each ACK: the segments that the kernel and the sender sent after it, and the state of each then.
///
/// # Errors
///
/// What is wrong with the recording or the settings.
pub fn beside_kernel(transport: &str, settings: &[String], recording: &str) -> Result<String, String> {
    let text = format!(
        "[[groups]]\nname = \"tcp\"\ntransport = \"{transport}\"\nera = \"linux\"\nmax_window = \"100000p\"\n"
    );
    let settings: Vec<_> = settings.iter().map(|set| format!("groups.tcp.{set}")).collect();
    let scenario = Scenario::parse(&text, "settings", &settings).map_err(|problems| problems.to_string())?;
    fairdrop_tcp::beside_kernel(scenario.groups[0].transport.tcp().ok_or("no TCP")?, recording)
}
