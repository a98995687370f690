//! How much memory this process can still get: the least that any limit leaves.
//!
//! - what the machine has: `MemAvailable` of `/proc/meminfo`;
//! - the limits of the address space and of data (`ulimit -v`, `ulimit -d`), less what is mapped;
//! - the limits of the control group and of all above it, versions 1 and 2, less what is used and cannot be given back.
//!
//! Where a file cannot be read, it says nothing. Source: proc(5), getrlimit(2), and the kernel's
//! `admin-guide/cgroup-v2` and `admin-guide/cgroup-v1/memory`.

use crate::host::available::{Available, Limit};
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::path::{Path, PathBuf};

impl Available {
    /// At this moment.
    pub fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let left = |resource, used: &str| {
            Some(getrlimit(resource).current?.saturating_sub(kilobytes(&status, used).unwrap_or(0)))
        };
        let of_process = [
            (left(Resource::As, "VmSize"), Limit::AddressSpace),
            (left(Resource::Data, "VmData"), Limit::Data),
        ];
        let of_process = of_process.into_iter().filter_map(|(bytes, limit)| Some((bytes?, limit)));
        least(of_process.chain(below(Path::new("/"))))
    }
}

fn least(limits: impl Iterator<Item = (u64, Limit)>) -> Available {
    let (bytes, limit) = limits.min_by_key(|(bytes, _)| *bytes).unwrap_or((u64::MAX, Limit::None));
    Available { bytes, limit }
}

/// What the files below `root` say, which is `/` but in tests.
fn below(root: &Path) -> impl Iterator<Item = (u64, Limit)> {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let machine = kilobytes(&read("proc/meminfo"), "MemAvailable").map(|bytes| (bytes, Limit::Machine));
    let groups = control_groups(&read("proc/self/cgroup"), &read("proc/self/mountinfo"));
    let of_groups = groups.into_iter().flat_map(ControlGroup::with_parents).collect::<Vec<_>>();
    let root = root.to_owned();
    let left = move |group: ControlGroup| Some((group.left(&root)?, Limit::ControlGroup(group.directory)));
    machine.into_iter().chain(of_groups.into_iter().filter_map(left))
}

/// Bytes of a line such as `VmSize:  1234 kB`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// A control group of this process, and the one that everything in sight is in.
#[derive(Clone, Debug, PartialEq)]
struct ControlGroup {
    directory: PathBuf,
    mount: PathBuf,
    unified: bool,
}

/// The groups that account for memory: of version 2, and of version 1.
fn control_groups(own: &str, mounts: &str) -> Vec<ControlGroup> {
    let mut groups = Vec::new();
    for line in mounts.lines() {
        let Some((place, kind)) = line.split_once(" - ") else { continue };
        let (mut place, mut kind) = (place.split(' ').skip(3), kind.split(' '));
        let (Some(inside), Some(mount), Some(kind), options) =
            (place.next(), place.next(), kind.next(), kind.nth(1).unwrap_or_default())
        else {
            continue;
        };
        let unified = kind == "cgroup2";
        let of_memory = kind == "cgroup" && options.split(',').any(|option| option == "memory");
        if !(unified || of_memory) {
            continue;
        }
        // Lines are number:controllers:path; the unified hierarchy has no controllers there.
        let path = own.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            let found =
                if unified { controllers.is_empty() } else { controllers.split(',').any(|c| c == "memory") };
            found.then_some(path)
        });
        let Some(path) = path else { continue };
        let below = Path::new(path).strip_prefix(inside).unwrap_or(Path::new(""));
        groups.push(ControlGroup { directory: Path::new(mount).join(below), mount: mount.into(), unified });
    }
    groups
}

impl ControlGroup {
    /// It, and those that it is in.
    fn with_parents(self) -> Vec<Self> {
        let Self { directory, mount, unified } = &self;
        let up = directory.ancestors().take_while(|directory| directory.starts_with(mount));
        up.map(|up| Self { directory: up.to_owned(), mount: mount.clone(), unified: *unified }).collect()
    }

    /// Bytes that its limit leaves; `None` without a limit.
    fn left(&self, root: &Path) -> Option<u64> {
        let inside = root.join(self.directory.strip_prefix("/").unwrap_or(&self.directory));
        let read = |name: &str| fs::read_to_string(inside.join(name)).ok();
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        let (limit, usage, cache) = if self.unified {
            ("memory.max", "memory.current", "inactive_file ")
        } else {
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ")
        };
        let limit = number(limit)?;
        let used = number(usage).unwrap_or(0);
        // Pages of files that nobody has used lately are given back first.
        let stat = read("memory.stat").unwrap_or_default();
        let cache = stat.lines().find_map(|line| line.strip_prefix(cache)?.trim().parse().ok()).unwrap_or(0);
        Some(limit.saturating_sub(used.saturating_sub(cache)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of files in a folder of its own.
    fn tree(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("fairdrop-available-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn found(name: &str, files: &[(&str, &str)]) -> Available {
        let root = tree(name, files);
        let found = least(below(&root));
        fs::remove_dir_all(root).unwrap();
        found
    }

    const MEMINFO: (&str, &str) =
        ("proc/meminfo", "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable:    4000 kB\n");
    const MOUNTED: (&str, &str) = (
        "proc/self/mountinfo",
        "24 1 0:20 / /proc rw - proc proc rw\n31 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
    );

    #[test]
    fn without_limits_it_is_what_the_machine_has() {
        assert_eq!(found("free", &[MEMINFO]), Available { bytes: 4_096_000, limit: Limit::Machine });
        assert_eq!(
            found("nothing", &[("proc/other", "")]),
            Available { bytes: u64::MAX, limit: Limit::None }
        );
    }

    /// The limit of a parent counts; files that the kernel can drop do not.
    #[test]
    fn control_groups_of_version_2() {
        let files = [
            MEMINFO,
            MOUNTED,
            ("proc/self/cgroup", "0::/user/session\n"),
            ("sys/fs/cgroup/user/session/memory.max", "max\n"),
            ("sys/fs/cgroup/user/memory.max", "3000000\n"),
            ("sys/fs/cgroup/user/memory.current", "1000000\n"),
            ("sys/fs/cgroup/user/memory.stat", "anon 5\ninactive_file 400000\n"),
        ];
        let limit = Limit::ControlGroup("/sys/fs/cgroup/user".into());
        assert_eq!(found("v2", &files), Available { bytes: 2_400_000, limit });
    }

    /// In a container the group's own directory is the mount.
    #[test]
    fn control_groups_of_version_1() {
        let files = [
            MEMINFO,
            (
                "proc/self/mountinfo",
                "9 1 0:1 /docker/7 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
                 8 1 0:1 /docker/7 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n",
            ),
            ("proc/self/cgroup", "5:cpu:/docker/7\n4:hugetlb,memory:/docker/7\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "2500000\n"),
            ("sys/fs/cgroup/memory/memory.stat", "total_inactive_file 600000\n"),
        ];
        let limit = Limit::ControlGroup("/sys/fs/cgroup/memory".into());
        assert_eq!(found("v1", &files), Available { bytes: 100_000, limit });
    }

    #[test]
    fn this_process_has_some() {
        let Available { bytes, limit } = Available::now();
        assert!(bytes > 0 && limit != Limit::None, "{bytes} {limit}");
    }
}
