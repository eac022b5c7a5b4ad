//! How a memory goes on with what an earlier run left at servers: its index is made again of what
//! items say of themselves.

use crate::{
    coded::{CodedMemory, CodedMemorySettings, CodedMemorySettingsError, numbered},
    copies::Copies,
    fault::LinkFault,
    keepsake::Keepsake,
    link::Standing,
    name::Names,
    survey::{Found, Survey},
};
use ripstop_model::Timestamp;
use ripstop_seal::{Sealer, StoreKey};
use ripstop_tier::{FoundItem, MemoryTier, ServerId, TierEvent, Version};
use std::{net::SocketAddr, time::Duration};
use tokio::{task::JoinHandle, time};
use tracing::{info, warn};

/// A server that does not accept connections for as many timeouts is lost.
const CONNECT_TRIES: u32 = 4;
/// Versions that one run gives, at most.
const RUN_VERSIONS: u64 = 1 << 40;
/// Longest that what can be made again is waited for before anything is answered.
const MENDED_WITHIN: Duration = Duration::from_secs(10);
/// Pause between two looks at whether it is.
const PAUSE: Duration = Duration::from_millis(2);

/// A server that was looked at, and what it has.
type Surveyed = Result<(Survey, Found), LinkFault>;

impl CodedMemory {
    /// A memory over servers that goes on with what a memory of this name, code and key had there:
    /// what was answered is there as long as no more than N - K rings lost something, and no server
    /// was moved to another ring. Servers that are not there, or do not say all they have, are lost
    /// to it: they are emptied before they return.
    ///
    /// Only one memory of a name may be over servers at a time.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn recover(
        settings: CodedMemorySettings,
        key: &StoreKey,
    ) -> Result<Self, CodedMemorySettingsError> {
        let begun = ripstop_host::now();
        let rings = numbered(&settings)?;
        let names = Names::lasting(Sealer::new(key), &settings.name, settings.code);
        let mut surveyed = survey(&settings, &names).await;
        let floor = floor(&surveyed);
        let (key, token) = (names.keepsake(), names.token(floor));
        let is_alone = !settings.is_shared;
        let keepsake = Keepsake { key, token, is_alone, names: names.clone() };
        leave(&mut surveyed, &keepsake).await;
        let (standings, items, copies) = take(surveyed);
        let (now, mut actions) = (Timestamp::ZERO + ripstop_host::since_1970(), Vec::new());
        let count = items.len();
        let mut tier =
            MemoryTier::rebuild(settings.code, &rings, (now, floor), items, &mut actions);
        for (number, standing) in (0..).zip(&standings) {
            if *standing == Standing::Lost {
                tier.handle(now, TierEvent::ServerLost(ServerId(number)), &mut actions);
            }
        }
        let keys = tier.len();
        let memory = Self::begin(settings, tier, (names, keepsake), standings, (actions, copies));
        let made = ripstop_host::since(begun);
        // Of what was not answered there may be less than there should: nobody sees it until there
        // is no less, so that it does not go again.
        while memory.is_mending() && ripstop_host::since(begun) < made + MENDED_WITHIN {
            time::sleep(PAUSE).await;
        }
        let took = ripstop_host::since(begun);
        info!(keys, items = count, ?made, ?took, "a memory tier's index was made again");
        Ok(memory)
    }
}

/// Looks at all servers at once; they are in the order of their numbers.
async fn survey(settings: &CodedMemorySettings, names: &Names) -> Vec<Surveyed> {
    let within = settings.link.connect_timeout * CONNECT_TRIES;
    let look = |at: &SocketAddr| -> JoinHandle<Surveyed> {
        let (at, names, is_alone) = (*at, names.clone(), !settings.is_shared);
        ripstop_host::spawn(async move {
            let mut survey = Survey::connect(at, within).await?;
            let found = survey.look(&names, is_alone).await?;
            Ok((survey, found))
        })
    };
    let looks: Vec<_> = settings.rings.iter().flatten().map(look).collect();
    let mut surveyed = Vec::with_capacity(looks.len());
    for look in looks {
        surveyed.push(look.await.expect("looking at a server does not panic"));
    }
    surveyed
}

/// The version above which this run's are: above all that were given before, also those of which
/// nothing is left. Of a clock that was set back nothing depends.
fn floor(surveyed: &[Surveyed]) -> Version {
    let now = u64::try_from(ripstop_host::since_1970().as_nanos()).unwrap_or(u64::MAX / 2);
    let floors = surveyed.iter().flatten().filter_map(|(_, found)| found.floor);
    let above = floors.map(|floor| floor.0.saturating_add(RUN_VERSIONS)).max();
    Version(above.unwrap_or(0).max(now))
}

/// Leaves the run's keepsake at all servers that were looked at; one that does not take it is lost.
async fn leave(surveyed: &mut [Surveyed], keepsake: &Keepsake) {
    for server in surveyed {
        if let Ok((survey, _)) = server
            && let Err(fault) = survey.keep(keepsake).await
        {
            *server = Err(fault);
        }
    }
}

/// How each server stands, all that they have, and where copies are.
fn take(surveyed: Vec<Surveyed>) -> (Vec<Standing>, Vec<(ServerId, FoundItem)>, Copies) {
    let (mut standings, mut items, mut copies) = (Vec::new(), Vec::new(), Copies::default());
    for (number, server) in (0..).zip(surveyed) {
        match server {
            Ok((_, found)) => {
                standings.push(Standing::Known);
                for (name, place) in found.copies {
                    copies.found(ServerId(number), name, place);
                }
                items.extend(found.items.into_iter().map(|item| (ServerId(number), item)));
            }
            Err(fault) => {
                warn!(server = number, %fault, "what a memory server has is not known");
                standings.push(Standing::Lost);
            }
        }
    }
    (standings, items, copies)
}
