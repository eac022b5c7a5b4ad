//! Buckets, as far as their owners' programs cannot say it: whose they are.

use crate::user::Place;
use anyhow::Result;
use clap::{Args, Subcommand};
use std::process::ExitCode;

#[derive(Args, Debug)]
pub(crate) struct Bucket {
    #[command(subcommand)]
    told: BucketTold,
}

#[derive(Subcommand, Debug)]
enum BucketTold {
    /// Give a bucket to another account, which owns it from then on: to a user with an account of
    /// its own, or back to the store's.
    ///
    /// What the bucket's access list granted is taken back; its policy and its objects stay as they
    /// are. A gateway must serve, and its admin port have a token or be a Unix socket.
    Give {
        #[command(flatten)]
        place: Place,
        /// The bucket's name.
        bucket: String,
        /// The user whose it is to be [default: the store's own].
        #[arg(long, value_name = "USER")]
        to: Option<String>,
    },
}

pub(crate) async fn run(bucket: Bucket) -> Result<ExitCode> {
    match bucket.told {
        BucketTold::Give { place, bucket, to } => {
            place.port()?.give_bucket(&bucket, to.as_deref()).await?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
