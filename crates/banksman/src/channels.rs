//! The channels by which people are told: read from a file, opened, and put to work.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use banksman_engine::Engine;
use banksman_http::{App, Hooks};
use banksman_outbox::{Config, OpenedChannels};
use banksman_policy::Policy;
use tokio::task::JoinHandle;

use crate::exit::{Exit, stop};
use crate::folder::Folder;

/// Those of the file that was named, or of the one in the data folder.
pub(crate) fn read(
    named: Option<&Path>,
    folder: &Folder,
    listen: SocketAddr,
) -> anyhow::Result<Option<Config>> {
    let usual = folder.channels();
    let path = match named {
        Some(path) => path,
        None if usual.exists() => &usual,
        None => return Ok(None),
    };
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| stop(Exit::Usage, format!("cannot read {shown}: {error}")))?;
    Config::parse(&shown.to_string(), &text, &format!("http://{listen}"))
        .map(Some)
        .map_err(|error| stop(Exit::Usage, format!("the channels of {shown} cannot be used:\n{error}")))
}

/// Opens them, lets the server hear what people answer there, and starts everything that works in the background.
pub(crate) fn open(
    config: Config,
    engine: &Arc<Engine>,
    policy: &Policy,
    app: &App,
) -> anyhow::Result<Vec<JoinHandle<()>>> {
    for missing in config.missing_channels(policy) {
        tracing::warn!("the policy's {missing}, and channels.yaml has none of that name");
    }
    let OpenedChannels { outbox, conversations } =
        config.open(Arc::clone(engine)).map_err(|problem| stop(Exit::Usage, problem))?;
    app.listen_on(Hooks { outbox: Arc::clone(&outbox), conversations });
    app.tell_by(Arc::clone(&outbox));
    let mut workers = engine.start_workers(Arc::clone(&outbox) as _);
    workers.extend(outbox.start_workers());
    Ok(workers)
}
