use indicatif::{ProgressBar, ProgressStyle};
use std::fmt;

/// A bar on the standard error output that shows how many steps are done and how long the rest will
/// take; nothing where that is no terminal. Gone when dropped.
pub struct Progress {
    bar: ProgressBar,
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (done, steps) = (self.bar.position(), self.bar.length().unwrap_or_default());
        write!(f, "Progress({done} of {steps})")
    }
}

impl Progress {
    /// A bar of this many steps, after the name of what is done.
    pub fn new(steps: u64, name: &str) -> Self {
        let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}, {eta} left");
        let style = style.expect("the template is well formed").progress_chars("=> ");
        let bar = ProgressBar::new(steps).with_style(style).with_message(name.to_owned());
        Self { bar }
    }

    /// This many more steps are done. May be called from any thread.
    pub fn advance(&self, steps: u64) {
        self.bar.inc(steps);
    }

    /// How many steps are done.
    pub fn done(&self) -> u64 {
        self.bar.position()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted() {
        let progress = Progress::new(10, "runs");
        progress.advance(3);
        progress.advance(1);
        assert_eq!(progress.done(), 4);
        assert_eq!(format!("{progress:?}"), "Progress(4 of 10)");
    }
}
