//! The memory that the system lets this process take: the machine's, or less in a container.
//!
//! Linux bounds the memory of a container by control groups. Their files have two layouts, version 1 and
//! version 2, and a machine may have both. A process is bounded by its own group and by all groups above it.

use std::fs;

/// The folder where systems show the groups of version 2, and below `memory` the groups of version 1.
const GROUPS: &str = "/sys/fs/cgroup";

/// Returns the memory that this process may take, in bytes, of a machine with `machine` bytes.
pub(super) fn bytes(machine: u64) -> u64 {
    least_limit(|path| fs::read_to_string(path).ok()).map_or(machine, |limit| limit.min(machine))
}

/// Returns the least limit on the groups of this process; `None` if there is none. `read` returns the content
/// of a file.
fn least_limit(read: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let groups = read("/proc/self/cgroup")?;
    groups.lines().flat_map(|line| of_group(line, &read)).min()
}

/// Returns the limits on a group and on those above it. `line` is a line of `/proc/self/cgroup`:
/// `0::/path` for version 2, `4:memory:/path` for version 1.
fn of_group(line: &str, read: &impl Fn(&str) -> Option<String>) -> Vec<u64> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { return Vec::new() };
    let (root, file) = match controllers {
        "" => (GROUPS.to_owned(), "memory.max"),
        _ if controllers.split(',').any(|name| name == "memory") => {
            (format!("{GROUPS}/memory"), "memory.limit_in_bytes")
        }
        _ => return Vec::new(),
    };
    // Inside a container, the path may be the one outside, and only the root is there.
    let above = path.match_indices('/').map(|(end, _)| &path[..end]).chain([path.trim_end_matches('/')]);
    // A group without a limit has the word `max` there, or a number above all memory.
    above.filter_map(|group| read(&format!("{root}{group}/{file}"))?.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(files: &[(&str, &str)]) -> Option<u64> {
        least_limit(|path| files.iter().find(|(name, _)| *name == path).map(|(_, content)| (*content).to_owned()))
    }

    #[test]
    fn the_least_limit_of_a_group_and_those_above_counts() {
        let groups = ("/proc/self/cgroup", "0::/all/one\n");
        let own = ("/sys/fs/cgroup/all/one/memory.max", "max\n");
        let above = ("/sys/fs/cgroup/all/memory.max", "2000000\n");
        assert_eq!(limit(&[groups, own, above]), Some(2_000_000));
        assert_eq!(limit(&[groups, ("/sys/fs/cgroup/all/one/memory.max", "1000\n"), above]), Some(1000));
        assert_eq!(limit(&[groups, own]), None);
    }

    #[test]
    fn groups_of_version_1_are_found_by_their_controller() {
        let groups = ("/proc/self/cgroup", "3:cpu,cpuacct:/docker/12\n2:hugetlb,memory:/docker/12\n0::/\n");
        let of_cpu = ("/sys/fs/cgroup/memory/docker/12/cpu", "7");
        let own = ("/sys/fs/cgroup/memory/docker/12/memory.limit_in_bytes", "104857600\n");
        assert_eq!(limit(&[groups, of_cpu, own]), Some(100 << 20));
        // Inside the container, the group itself is the root.
        assert_eq!(limit(&[groups, ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n")]), Some(100 << 20));
    }

    #[test]
    fn a_system_without_groups_has_no_limit() {
        assert_eq!(limit(&[]), None);
        assert_eq!(limit(&[("/proc/self/cgroup", "0::/\nno group at all\n")]), None);
        assert_eq!(limit(&[("/proc/self/cgroup", "0::/\n"), ("/sys/fs/cgroup/memory.max", "300\n")]), Some(300));
    }
}
