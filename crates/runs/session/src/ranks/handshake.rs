//! The handshake: each rank sends its identity to rank 0, which lets all begin or refuses all.

use super::talk::Talk;
use super::{Go, Identity};
use crate::Failure;

/// Receives the identity of each other rank. Lets all begin if they are the same.
pub(super) fn lead(talk: &Talk, mine: &Identity, go: &Go) -> Result<(), Failure> {
    for rank in talk.others() {
        let other: Identity = talk.hear(rank)?;
        if let Some(difference) = mine.difference(rank, &other) {
            let refusal: Result<&Go, &String> = Err(&difference);
            talk.others().for_each(|rank| talk.tell(rank, &refusal));
            return Err(Failure::usage(difference, "see `parades run --help`"));
        }
    }
    let answer: Result<&Go, String> = Ok(go);
    talk.others().for_each(|rank| talk.tell(rank, &answer));
    Ok(())
}

/// Sends this rank's identity to rank 0, and waits to be told to begin.
pub(super) fn follow(talk: &Talk, mine: &Identity) -> Result<Go, Failure> {
    talk.tell(0, mine);
    let answer: Result<Go, String> = talk.hear(0)?;
    answer.map_err(Failure::simulation)
}
