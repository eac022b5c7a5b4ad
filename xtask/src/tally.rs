use crate::command::{Ended, say};
use anyhow::{Result, bail};

/// How many tests there were, over several runners.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
    complaints: Vec<String>,
}

impl Tally {
    /// One step that either passed or failed.
    pub(crate) fn step(&mut self, what: &str, done: Result<()>) {
        match done {
            Ok(()) => self.passed += 1,
            Err(error) => self.fail(format!("{what}: {error:#}")),
        }
    }

    /// Something that could not be tried.
    pub(crate) fn skip(&mut self, what: &str) {
        say(&format!("\n!!! SKIPPED: {what}\n"));
        self.skipped += 1;
        self.complaints.push(format!("skipped: {what}"));
    }

    /// Takes in a test runner's counts. A runner that fails without naming a failed test, or that
    /// ran none, counts as one failure.
    pub(crate) fn runner(&mut self, what: &str, done: Result<Ended>) {
        let ended = match done {
            Ok(ended) => ended,
            Err(error) => return self.fail(format!("{what}: {error:#}")),
        };
        let mut counted = Self::default();
        for line in &ended.lines {
            counted.count(line);
        }
        if !ended.status.success() && counted.failed == 0 {
            self.fail(format!("{what}: {}", ended.status));
        } else if counted.passed + counted.failed == 0 {
            self.fail(format!("{what}: ran no test"));
        } else if counted.failed > 0 {
            self.complaints.push(format!("{what}: {} failed", counted.failed));
        }
        self.add(counted);
    }

    /// Joins the counts of two parts.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.complaints.extend(other.complaints);
    }

    /// Prints what was wrong and the line that sums up; fails if anything failed.
    pub(crate) fn conclude(self) -> Result<()> {
        for complaint in &self.complaints {
            say(complaint);
        }
        say(&format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped));
        if self.failed > 0 {
            bail!("{} failed", self.failed);
        }
        Ok(())
    }

    fn fail(&mut self, complaint: String) {
        self.failed += 1;
        self.complaints.push(complaint);
    }

    /// Reads one line of a runner's output, if it is one that sums up: cargo's `test result: ok. 3
    /// passed; 0 failed; 1 ignored; …`, or pytest's `1 failed, 3 passed, 1 skipped in 2.50s`.
    fn count(&mut self, line: &str) {
        let line = line.trim_matches(['=', ' ']);
        let counts = if let Some(rest) = line.strip_prefix("test result: ") {
            rest.split_once(". ").map_or(rest, |(_, counts)| counts)
        } else if let Some((counts, time)) = line.rsplit_once(" in ")
            && time.starts_with(|c: char| c.is_ascii_digit())
            && counts.starts_with(|c: char| c.is_ascii_digit())
        {
            counts
        } else {
            return;
        };
        for part in counts.split([';', ',']) {
            let mut words = part.split_whitespace();
            let number = words.next().and_then(|word| word.parse::<usize>().ok());
            match (number, words.next()) {
                (Some(number), Some("passed")) => self.passed += number,
                (Some(number), Some("failed" | "error" | "errors")) => self.failed += number,
                (Some(number), Some("skipped" | "ignored")) => self.skipped += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;
    use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

    fn ended(code: i32, line: &str) -> Ended {
        Ended { status: ExitStatus::from_raw(code << 8), lines: vec![line.into()] }
    }

    fn counts(tally: &Tally) -> (usize, usize, usize) {
        (tally.passed, tally.failed, tally.skipped)
    }

    #[test]
    fn the_lines_that_sum_up_are_added() {
        let cargo = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out";
        let pytest = "2 failed, 5 passed, 1 skipped, 3 errors in 1.0s (0:01)";
        let framed = "==== 4 passed, 9 deselected, 1 warning in 60.12s ====";
        let mut tally = Tally::default();
        tally.runner("cargo", Ok(ended(0, cargo)));
        assert_eq!(counts(&tally), (3, 0, 1));
        tally.runner("pytest", Ok(ended(1, pytest)));
        assert_eq!(counts(&tally), (8, 5, 2));
        tally.runner("pytest", Ok(ended(0, framed)));
        assert_eq!(counts(&tally), (12, 5, 2));
    }

    #[test]
    fn a_runner_that_breaks_or_runs_nothing_is_a_failure() {
        let mut tally = Tally::default();
        tally.runner("broken", Ok(ended(101, "error: could not compile")));
        tally.runner("none", Ok(ended(0, "test result: ok. 0 passed; 0 failed; 0 ignored")));
        tally.runner("late", Err(anyhow!("took too long")));
        assert_eq!(counts(&tally), (0, 3, 0));
        assert!(tally.conclude().is_err());
    }
}
