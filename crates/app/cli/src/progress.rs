use indicatif::{ProgressBar, ProgressStyle};

/// A spinner on a terminal, nothing in a pipe.
pub(crate) fn progress(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    let style = ProgressStyle::with_template("{spinner} {pos} {msg} ({elapsed})");
    bar.set_style(style.expect("the template is well formed"));
    bar.set_message(what);
    bar
}
