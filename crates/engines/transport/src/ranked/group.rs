//! The group of a rank: collective operations over its fabric.

use super::Ranked;
use super::bundles::destination;
use super::frame::Frame;
use super::received::Received;
use crate::group::Group;
use parades_core::any_model::parcel::Traffic;
use parades_core::wire::Destination;
use parades_sync::barrier::Broken;

/// The worker whose bundles the leader uses.
const LEADER: usize = 0;

impl<T: Traffic> Group for Ranked<'_, T> {
    fn rank(&self) -> usize {
        self.fabric.rank()
    }

    fn ranks(&self) -> usize {
        self.fabric.ranks()
    }

    fn destination(&self, rank: usize) -> Destination {
        destination(&*self.fabric, rank)
    }

    fn gather(&self, mine: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>, Broken> {
        if self.fabric.rank() != 0 {
            self.send_frame(LEADER, 0, &Frame::Collective(mine));
            self.flush(LEADER);
            return Ok(None);
        }
        let others = self.wait_for(LEADER, Received::take_collective)?;
        Ok(Some(std::iter::once(mine).chain(others).collect()))
    }

    fn broadcast(&self, from_first: Option<Vec<u8>>) -> Result<Vec<u8>, Broken> {
        let Some(bytes) = from_first else { return self.wait_for(LEADER, Received::take_of_first) };
        let frame = Frame::Collective(bytes);
        self.send_to_others(LEADER, &frame);
        let Frame::Collective(bytes) = frame else { unreachable!("it was made as such") };
        Ok(bytes)
    }

    fn swap(&self, mine: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Broken> {
        let here = self.fabric.rank();
        for (rank, bytes) in mine.into_iter().enumerate().filter(|(rank, _)| *rank != here) {
            self.send_frame(LEADER, rank, &Frame::Collective(bytes));
        }
        self.flush(LEADER);
        let mut all = self.wait_for(LEADER, Received::take_collective)?;
        all.insert(here, Vec::new());
        Ok(all)
    }

    fn give_up(&self, why: String) -> Broken {
        self.break_with(why)
    }
}
