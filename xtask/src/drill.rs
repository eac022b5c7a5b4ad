mod form;
mod nightly;
mod planted;

pub(crate) use planted::few;

use crate::command::{cargo, run};
use anyhow::Result;
use form::{DRILLS_MAX, PLAYED};

/// Which drills.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Plant each of the bugs in crates/drill/planted in a copy of the tree, which is built once,
    /// and see that the drill finds it; with a word, only those whose names have it.
    #[arg(long, num_args = 0..=1, default_missing_value = "", value_name = "WORD")]
    planted: Option<String>,
    /// Plant the three of them that CI plants, in a build like that of the tests.
    #[arg(long, conflicts_with = "planted")]
    few: bool,
    /// What is played in a night: ten thousand drills, a thousand in two processes each, and all
    /// planted bugs.
    #[arg(long, conflicts_with_all = ["planted", "few"])]
    nightly: bool,
    /// What the drill is told: `--help` shows what there is.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

pub(crate) fn drill(arguments: &Arguments) -> Result<()> {
    if let Some(word) = &arguments.planted {
        return planted::all(word);
    }
    if arguments.few {
        return few();
    }
    if arguments.nightly {
        return nightly::play();
    }
    let mut words = [&["run", "--quiet"], &PLAYED[..], &["--"]].concat();
    words.extend(arguments.words.iter().map(String::as_str));
    run(cargo(&words)?, DRILLS_MAX)
}
