use crate::{
    backup::{Backup, Restore},
    bench::Bench,
    bucket::Bucket,
    capacity::Capacity,
    catalog::Catalog,
    check::Check,
    common::Common,
    fit::Fit,
    gateways::Gateways,
    plan::Plan,
    rebuild::Rebuild,
    replay::Replay,
    rotate_key::RotateKey,
    serve::Serve,
    simulate::Simulate,
    tier::Tier,
    user::{Key, Policy, User},
    what_if::WhatIf,
};
use clap::{Parser, Subcommand};

/// An S3 gateway over coded storage: objects survive the loss of nodes, and one endpoint serves
/// them.
///
/// With no configuration, `ripstop serve` keeps everything in ./ripstop-data: six directories as
/// nodes, each object coded so that any four of the six suffice.
#[derive(Parser, Debug)]
#[command(version, max_term_width = 100, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Serve S3, and the admin port, until told to stop (SIGINT or SIGTERM).
    Serve(Serve),
    /// Read every fragment and report what is missing, damaged or unclaimed.
    ///
    /// If a gateway runs on the same data folder, it does the check; otherwise this command opens
    /// the catalog. Exits with 0 if all is well or was put right, with 1 if something was found,
    /// with 2 if the check could not be made.
    Check(Check),
    /// Rebuild a lost catalog from the fragments at the nodes, or complete an old one with --onto.
    /// The gateway must not run.
    ///
    /// Exits with 0 if everything that was ever answered is there, as far as can be told; with 1 if
    /// something is lost, disputed or unreadable, or a node was not listed completely; with 2 if no
    /// catalog was made.
    Rebuild(Rebuild),
    /// Copy the catalog to a new file, whether a gateway serves or not, and verify the copy.
    ///
    /// The store's key is copied too, as FILE.key, and the keys of encrypted objects, as
    /// FILE.object-keys, if they are in the data folder; if they are configured to be elsewhere,
    /// you must copy them yourself.
    ///
    /// Keep the copy on another disk than the data folder's. Exits with 1 if
    /// records in the catalog do not agree, with 2 if no copy was made.
    Backup(Backup),
    /// Put a copy of the catalog back, and bring in what has been written since from the fragments.
    /// The gateway must not run.
    ///
    /// The catalog that was there is kept beside it, as catalog.replaced-SECONDS.redb.
    Restore(Restore),
    /// Move the catalog into a database, or back.
    Catalog(Catalog),
    /// Replay a recording of `serve --record`, and compare every decision with the one made then.
    ///
    /// Exits with 0 if all are equal, with 1 after the first that differs, with 2 if the file
    /// cannot be read.
    Replay(Replay),
    /// Show the gateways over the catalog of one that runs: which live, where they serve, and what
    /// they are.
    Gateways(Gateways),
    /// Look at the memory tiers of a gateway that runs, and change their servers.
    Tier(Tier),
    /// Make, show and remove users of S3 who are managed by commands, whether a gateway serves or
    /// not. One that serves takes changes within a second.
    User(User),
    /// Make, show, disable and remove their access keys.
    Key(Key),
    /// Put, show, attach and remove policies that say what they may do.
    Policy(Policy),
    /// Give buckets to other accounts.
    Bucket(Bucket),
    /// Make a new key for objects that are encrypted from now on: the gateway's own (`AES256`), or
    /// a named one (`aws:kms`).
    ///
    /// Those before it stay in the file, for what is encrypted with them. Keep a copy of the file.
    RotateKey(RotateKey),
    /// Say whether the configuration is valid, and show what is in force.
    CheckConfig(Common),
    /// Measure an S3 server, such as this gateway: clients in a closed loop that put new objects
    /// and read them.
    Bench(Bench),
    /// Fit the delay model to a task log, and say how far to trust it.
    ///
    /// For each direction, and for each node: the model of TOFEC as the paper fits it and
    /// corrected, the data behind it, and how far the measurements are off. Exits with 2 if the
    /// log cannot be read or says too little.
    Fit(Fit),
    /// Play a scenario: policies against loads, on nodes that exist only on paper.
    ///
    /// The code that serves makes every decision, even how a pool plans itself when a node slows,
    /// and which stripes are moved. Equal scenarios give equal numbers, on every machine.
    Simulate(Simulate),
    /// Replay an access log through a configured pool: latency, load and cost under other policies.
    ///
    /// Nothing is read or stored: the nodes are simulated, and the code that serves makes every
    /// decision. Objects larger than `store.stripe_max` are cut as the gateway cuts them, and done
    /// when all their stripes are.
    Whatif(WhatIf),
    /// Say how much capacity a promise takes on a trace: requests a second for each of its tiers.
    ///
    /// Tiers are such as 95 % of requests within 10 ms and all of them within 500 ms, each with a
    /// share of its own. For comparison: what first come, first served and the min–max load
    /// heuristic take, and the capacities for many fractions and bounds. Every request costs the
    /// same. See docs/capacity.md.
    Capacity(Capacity),
    /// Plan where chunks go and which nodes serve them: least mean latency plus cost, with a bound
    /// on what any plan could save.
    ///
    /// Files survive the loss of nodes and sites as the inventory demands. Exits with 2 if there is
    /// no plan, and says which constraint cannot be met and by how much. See
    /// docs/placement.md.
    Plan(Plan),
}
