//! Users, their keys and their policies: made, shown, changed and removed.

use crate::{common::Common, minio};
use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, Subcommand};
use ripstop_assembly::{
    AdminPort, PolicyShown, UserAnswer, UserCommand, UserShown, UsersFile, read_secret, write_keys,
};
use std::{
    fs,
    io::{IsTerminal as _, Read as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// What is said where something else was answered than was asked for.
const NO_ANSWER: &str = "the gateway's answer is none";
/// Most bytes of a policy that are read: a longer one is refused anyway.
const TEXT_LEN_MAX: u64 = 64 << 10;
/// Most bytes of what MinIO's client exported.
const IMPORT_LEN_MAX: u64 = 16 << 20;

/// Whose users: of a data folder, whether a gateway uses it or not, or of a gateway elsewhere.
#[derive(Args, Clone, Debug)]
pub(crate) struct Place {
    #[command(flatten)]
    common: Common,
    /// Ask the admin port of a gateway elsewhere: `https://HOST:PORT`, `http://…` or `unix:/path`.
    /// It must have a token, or be a Unix socket.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The file of that port's token.
    #[arg(long, value_name = "FILE", requires = "url")]
    token: Option<PathBuf>,
    /// The certificate of that port, for `https://`.
    #[arg(long, value_name = "FILE", requires = "url")]
    certificate: Option<PathBuf>,
}

impl Place {
    /// The admin port at the URL, if there is one.
    fn elsewhere(&self) -> Result<Option<AdminPort>> {
        let at =
            |url: &String| AdminPort::at(url, self.token.as_deref(), self.certificate.as_deref());
        self.url.as_ref().map(at).transpose()
    }

    /// The admin port of the gateway that serves there.
    pub(crate) fn port(&self) -> Result<AdminPort> {
        match self.elsewhere()? {
            Some(port) => Ok(port),
            None => AdminPort::of_folder(&self.common.resolve()?),
        }
    }

    async fn tell(&self, command: UserCommand) -> Result<UserAnswer> {
        match self.elsewhere()? {
            Some(port) => port.tell_users(&command).await,
            None => UsersFile::of(&self.common.resolve()?).carry_out(command),
        }
    }

    /// The same where nothing but success is to be told.
    async fn done(&self, command: UserCommand) -> Result<ExitCode> {
        self.tell(command).await?;
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Args, Debug)]
pub(crate) struct User {
    #[command(subcommand)]
    told: UserTold,
}

#[derive(Subcommand, Debug)]
enum UserTold {
    /// Make a user, who has no key yet.
    Add {
        #[command(flatten)]
        place: Place,
        /// The user's name: letters, digits, `-`, `_` and `.`.
        name: String,
        /// Attach a policy. May be given several times.
        #[arg(long, value_name = "NAME", conflicts_with = "account")]
        policy: Vec<String>,
        /// Give the user an account of its own, which owns the buckets that it makes. What it may
        /// do elsewhere is for the owners of buckets to say; policies are not attached to it.
        #[arg(long)]
        account: bool,
    },
    /// Show all users, with their policies and access keys.
    List {
        #[command(flatten)]
        place: Place,
        /// Print JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Make the users and policies that MinIO's client exports as JSON, all of them or none.
    ///
    /// Reads what `mc admin policy info --json` and `mc admin user list --json` print. Users keep
    /// their access keys and get new secrets, since MinIO does not tell those that they have. See
    /// docs/migration.md.
    Import {
        #[command(flatten)]
        place: Place,
        /// What was exported, or `-` for the standard input.
        file: PathBuf,
        /// Write the keys with their new secrets to this new file, in the form of AWS's credentials
        /// files: a profile for each user.
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
    },
    /// Remove a user, with all its keys and what is attached to it.
    Remove {
        #[command(flatten)]
        place: Place,
        /// The user's name.
        name: String,
    },
}

impl UserTold {
    const fn place(&self) -> &Place {
        match self {
            Self::Add { place, .. }
            | Self::List { place, .. }
            | Self::Import { place, .. }
            | Self::Remove { place, .. } => place,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Key {
    #[command(subcommand)]
    told: KeyTold,
}

#[derive(Subcommand, Debug)]
enum KeyTold {
    /// Make an access key of a user, and show its secret: once, on a terminal, or in a new file.
    Add {
        #[command(flatten)]
        place: Place,
        /// The user's name.
        user: String,
        /// What the access key is to be [default: drawn].
        #[arg(long, value_name = "KEY")]
        access_key: Option<String>,
        /// A file, readable by its owner only, whose one line is to be the secret [default: drawn].
        #[arg(long, value_name = "FILE")]
        secret_from: Option<PathBuf>,
        /// Write access key and secret to this new file, in the form of AWS's credentials files,
        /// and show nothing.
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
    },
    /// Show all access keys, and whose they are.
    List {
        #[command(flatten)]
        place: Place,
    },
    /// Remove an access key. What it has signed is refused from then on.
    Remove {
        #[command(flatten)]
        place: Place,
        /// The access key.
        access_key: String,
    },
    /// Have an access key let nobody in until it is enabled again.
    Disable {
        #[command(flatten)]
        place: Place,
        /// The access key.
        access_key: String,
    },
    /// Have an access key let in again.
    Enable {
        #[command(flatten)]
        place: Place,
        /// The access key.
        access_key: String,
    },
}

impl KeyTold {
    const fn place(&self) -> &Place {
        match self {
            Self::Add { place, .. }
            | Self::List { place, .. }
            | Self::Remove { place, .. }
            | Self::Disable { place, .. }
            | Self::Enable { place, .. } => place,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Policy {
    #[command(subcommand)]
    told: PolicyTold,
}

#[derive(Subcommand, Debug)]
enum PolicyTold {
    /// Put a policy in AWS's language, in the place of any other of that name.
    Put {
        #[command(flatten)]
        place: Place,
        /// The policy's name.
        name: String,
        /// The file of its text, or `-` for the standard input.
        file: PathBuf,
    },
    /// Show a policy as it was put.
    Get {
        #[command(flatten)]
        place: Place,
        /// The policy's name.
        name: String,
    },
    /// Show all policies, and to whom they are attached.
    List {
        #[command(flatten)]
        place: Place,
    },
    /// Remove a policy that is attached to nobody.
    Remove {
        #[command(flatten)]
        place: Place,
        /// The policy's name.
        name: String,
    },
    /// Have a policy say what a user may do.
    Attach {
        #[command(flatten)]
        place: Place,
        /// The policy's name.
        name: String,
        /// The user's name.
        user: String,
    },
    /// Have it no longer say that.
    Detach {
        #[command(flatten)]
        place: Place,
        /// The policy's name.
        name: String,
        /// The user's name.
        user: String,
    },
}

impl PolicyTold {
    const fn place(&self) -> &Place {
        match self {
            Self::Put { place, .. }
            | Self::Get { place, .. }
            | Self::List { place, .. }
            | Self::Remove { place, .. }
            | Self::Attach { place, .. }
            | Self::Detach { place, .. } => place,
        }
    }
}

pub(crate) async fn run_user(user: User) -> Result<ExitCode> {
    let place = user.told.place().clone();
    match user.told {
        UserTold::Add { name, policy, account, .. } => {
            place.done(UserCommand::AddUser { name, account, policies: policy }).await
        }
        UserTold::Import { file, to, .. } => import(&place, &file, &to).await,
        UserTold::Remove { name, .. } => place.done(UserCommand::RemoveUser { name }).await,
        UserTold::List { json, .. } => {
            let users = users(&place).await?;
            if json {
                say_line!("{}", serde_json::to_string(&users)?)?;
            } else {
                users.iter().try_for_each(print_user)?;
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Carries out what was exported, as one change.
async fn import(place: &Place, file: &Path, to: &Path) -> Result<ExitCode> {
    ensure!(!to.exists(), "{} is there already", to.display());
    let read = minio::read(&text(file, IMPORT_LEN_MAX)?)?;
    let UserAnswer::All(answers) = place.tell(UserCommand::All { commands: read.commands }).await?
    else {
        bail!(NO_ANSWER);
    };
    let mut keys = Vec::with_capacity(read.users);
    for answer in &answers {
        if let UserAnswer::Key { access_key, secret_key } = answer {
            keys.push((access_key.as_str(), access_key.as_str(), secret_key.as_str()));
        }
    }
    write_keys(to, &keys).context(
        "the users are made, and their secrets are in the users.json of the data folder alone",
    )?;
    for note in &read.notes {
        say_line!("left out: {note}")?;
    }
    say_line!("{} users, {} policies; keys in {}", read.users, read.policies, to.display())?;
    Ok(ExitCode::SUCCESS)
}

async fn users(place: &Place) -> Result<Vec<UserShown>> {
    let answer = place.tell(UserCommand::ListUsers).await?;
    let UserAnswer::Users(users) = answer else { bail!(NO_ANSWER) };
    Ok(users)
}

fn print_user(user: &UserShown) -> Result<()> {
    let account = if user.account { ", has an account of its own" } else { "" };
    let listed = |names: &[String]| match names {
        [] => "none".to_owned(),
        names => names.join(" "),
    };
    let key = |key: &ripstop_assembly::KeyShown| {
        let disabled = if key.disabled { " (disabled)" } else { "" };
        format!("{}{disabled}", key.access_key)
    };
    let keys: Vec<String> = user.keys.iter().map(key).collect();
    let (name, policies, keys) = (&user.name, listed(&user.policies), listed(&keys));
    say_line!("{name}: policies {policies}, keys {keys}{account}")
}

pub(crate) async fn run_key(key: Key) -> Result<ExitCode> {
    let place = key.told.place().clone();
    match key.told {
        KeyTold::Add { user, access_key, secret_from, to, .. } => {
            let secret_key = secret_from.as_deref().map(read_secret).transpose()?;
            let command = UserCommand::AddKey { user, access_key, secret_key };
            add_key(&place, command, to.as_deref()).await
        }
        KeyTold::Remove { access_key, .. } => {
            place.done(UserCommand::RemoveKey { access_key }).await
        }
        KeyTold::Disable { access_key, .. } => {
            place.done(UserCommand::DisableKey { access_key, disabled: true }).await
        }
        KeyTold::Enable { access_key, .. } => {
            place.done(UserCommand::DisableKey { access_key, disabled: false }).await
        }
        KeyTold::List { .. } => {
            for user in users(&place).await? {
                for key in user.keys {
                    let disabled = if key.disabled { " (disabled)" } else { "" };
                    say_line!("{} of {}{disabled}", key.access_key, user.name)?;
                }
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// What is printed elsewhere than on a terminal stays in some log, so that the secret is not.
async fn add_key(place: &Place, command: UserCommand, to: Option<&Path>) -> Result<ExitCode> {
    match to {
        Some(to) => ensure!(!to.exists(), "{} is there already", to.display()),
        None => ensure!(
            std::io::stdout().is_terminal(),
            "the secret is shown on a terminal only: say a new file for it with --to FILE"
        ),
    }
    let UserAnswer::Key { access_key, secret_key } = place.tell(command).await? else {
        bail!(NO_ANSWER);
    };
    let Some(to) = to else {
        say_line!("A new key, whose secret is shown this once:\n")?;
        say_line!("export AWS_ACCESS_KEY_ID={access_key}")?;
        say_line!("export AWS_SECRET_ACCESS_KEY={}", *secret_key)?;
        return Ok(ExitCode::SUCCESS);
    };
    if let Err(error) = write_keys(to, &[("default", &access_key, &secret_key)]) {
        // Nobody would ever know its secret.
        place.tell(UserCommand::RemoveKey { access_key }).await?;
        return Err(error);
    }
    say_line!("{access_key}")?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn run_policy(policy: Policy) -> Result<ExitCode> {
    let place = policy.told.place().clone();
    match policy.told {
        PolicyTold::Put { name, file, .. } => {
            place.done(UserCommand::PutPolicy { name, text: text(&file, TEXT_LEN_MAX)? }).await
        }
        PolicyTold::Get { name, .. } => {
            let answer = place.tell(UserCommand::GetPolicy { name }).await?;
            let UserAnswer::Policy(text) = answer else { bail!(NO_ANSWER) };
            say_line!("{}", text.trim_end())?;
            Ok(ExitCode::SUCCESS)
        }
        PolicyTold::List { .. } => {
            let answer = place.tell(UserCommand::ListPolicies).await?;
            let UserAnswer::Policies(policies) = answer else { bail!(NO_ANSWER) };
            for PolicyShown { name, users } in policies {
                let users = if users.is_empty() { "nobody".into() } else { users.join(" ") };
                say_line!("{name}: attached to {users}")?;
            }
            Ok(ExitCode::SUCCESS)
        }
        PolicyTold::Remove { name, .. } => place.done(UserCommand::RemovePolicy { name }).await,
        PolicyTold::Attach { name, user, .. } => {
            place.done(UserCommand::AttachPolicy { name, user }).await
        }
        PolicyTold::Detach { name, user, .. } => {
            place.done(UserCommand::DetachPolicy { name, user }).await
        }
    }
}

/// What is in a file, or comes on the standard input.
fn text(file: &Path, len_max: u64) -> Result<String> {
    let at = || file.display().to_string();
    let mut text = String::new();
    if file == Path::new("-") {
        std::io::stdin().take(len_max).read_to_string(&mut text).with_context(at)?;
    } else {
        let opened = fs::File::open(file).with_context(at)?;
        opened.take(len_max).read_to_string(&mut text).with_context(at)?;
    }
    Ok(text)
}
