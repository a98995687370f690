//! Whether the running kernel takes queue disciplines in BPF, and what it lacks.

use std::fs;

/// The oldest version that has the interface.
const OLDEST: (u32, u32) = (6, 16);
/// Types of the kernel, which programs are fitted to.
const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// A type that only a kernel with `CONFIG_NET_SCH_BPF` has.
const INTERFACE: &[u8] = b"bpf_struct_ops_Qdisc_ops";

/// Checks the rights of this process.
///
/// # Errors
/// It has too few.
pub fn check_rights() -> Result<(), String> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err("it takes the rights of root (CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN)".into())
}

/// Checks the rights of this process, and the running kernel.
///
/// # Errors
/// What it lacks.
pub fn check() -> Result<(), String> {
    check_rights()?;
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    judge(&release, fs::read(TYPES).ok().as_deref())
}

/// Checks a kernel by its release and its types.
fn judge(release: &str, types: Option<&[u8]>) -> Result<(), String> {
    let valid = "valid: Linux 6.17 or newer with CONFIG_NET_SCH_BPF, such as Debian's from trixie-backports";
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < OLDEST {
        return Err(format!("Linux {release} has no queue disciplines in BPF; {valid}"));
    }
    let types =
        types.ok_or_else(|| format!("Linux {release} has no {TYPES} (CONFIG_DEBUG_INFO_BTF); {valid}"))?;
    // Their names end with a zero.
    if types.split(|&byte| byte == 0).any(|name| name == INTERFACE) {
        return Ok(());
    }
    Err(format!("Linux {release} is built without CONFIG_NET_SCH_BPF; {valid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_lacks_is_named() {
        let with = [b"x\0".as_slice(), INTERFACE, b"\0"].concat();
        assert_eq!(judge("6.17.13+deb13-amd64", Some(&with)), Ok(()));
        assert_eq!(judge("7.3.4", Some(&with)), Ok(()));
        for (release, types, expected) in [
            (
                "6.12.86-amd64",
                Some(with.as_slice()),
                "Linux 6.12.86-amd64 has no queue disciplines in BPF; valid: Linux 6.17",
            ),
            ("6.18.0", None, "Linux 6.18.0 has no /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)"),
            ("6.16.12", Some(b"none".as_slice()), "Linux 6.16.12 is built without CONFIG_NET_SCH_BPF"),
            ("?", Some(with.as_slice()), "Linux ? has no queue"),
        ] {
            let error = judge(release, types).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
