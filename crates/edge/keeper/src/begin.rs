use crate::{
    Keeper, KeeperSettings,
    aftermath::Noting,
    alive::Alive,
    cleaning::Cleaning,
    expiry::Expiry,
    mend::Mending,
    round::{self, Pace},
    sweep::Sweep,
};
use ripstop_runtime::Aftermath;
use ripstop_store::Store;
use tokio::sync::mpsc;

impl Keeper {
    /// Begins to keep a store, in the runtime that this is called in. What became of the writes of
    /// its pools comes through `aftermaths`. Rounds go on until the last clone of the keeper is
    /// dropped; each keeps the store only while it does something.
    pub fn begin(
        store: Store,
        aftermaths: mpsc::Receiver<Aftermath>,
        settings: KeeperSettings,
    ) -> Self {
        let keeper = Self::of(store, settings);
        let settings = keeper.settings();
        round::begin(&keeper, Noting::of(aftermaths));
        round::begin(&keeper, Sweep::new(settings));
        round::begin(&keeper, Mending::new());
        if settings.clean_rate_max > 0 {
            round::begin_at(&keeper, Pace::of(settings.clean_rate_max), Cleaning::new(settings));
        }
        if !settings.uploads_expire_after.is_zero() {
            round::begin(&keeper, Expiry { after: settings.uploads_expire_after });
        }
        if keeper.keeping().lineage().is_shared() {
            round::begin(&keeper, Alive);
        }
        keeper
    }
}
