/// Clock ticks per second in `/proc`: part of the kernel's interface on every platform we know.
const TICKS_PER_SECOND: f64 = 100.0;

/// What the kernel says of this process; `None` where there is no `/proc`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Process {
    pub resident_bytes: f64,
    pub cpu_seconds: f64,
    pub open_files: f64,
}

impl Process {
    pub(crate) fn read() -> Option<Self> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        let open_files = std::fs::read_dir("/proc/self/fd").ok()?.count() as f64;
        let (resident_bytes, cpu_seconds) = (resident_bytes(&status)?, cpu_seconds(&stat)?);
        Some(Self { resident_bytes, cpu_seconds, open_files })
    }
}

fn resident_bytes(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0)
}

fn cpu_seconds(stat: &str) -> Option<f64> {
    // The program's name, in parentheses, may itself contain spaces and parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_with_parentheses_does_not_shift_the_fields() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4 9 0 0 0 250 150 0 0 20 0 3 0 55 1 2";
        assert_eq!(cpu_seconds(stat), Some(4.0));
        assert_eq!(resident_bytes("Name:\tx\nVmRSS:\t   12 kB\n"), Some(12288.0));
        assert_eq!((cpu_seconds("7 (a"), resident_bytes("Name:\tx\n")), (None, None));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_memory_and_open_files() {
        let process = Process::read().unwrap();
        assert!(process.resident_bytes > 1e5 && process.open_files >= 3.0);
    }
}
