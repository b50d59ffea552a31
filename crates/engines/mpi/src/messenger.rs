//! The calls of MPI that the fabric needs.

/// One rank's end of a message-passing library. Messages between two ranks arrive in the order in which they
/// were sent.
pub trait Messenger {
    /// Returns the number of this rank, from 0.
    fn rank(&self) -> usize;

    /// Returns the number of ranks.
    fn ranks(&self) -> usize;

    /// Returns the name of the machine that this rank runs on.
    fn machine(&self) -> String;

    /// Sends messages, each to the rank beside it. Calls `wait` with a function that returns true once the
    /// library no longer needs the bytes. `wait` returns after that function has returned true, and receives
    /// until then; so two ranks that send to each other both continue.
    fn send_all(&self, messages: &[(usize, &[u8])], wait: &mut dyn FnMut(&mut dyn FnMut() -> bool));

    /// Receives a message that has arrived, with its sender. Does not wait.
    fn receive(&self) -> Option<(usize, Vec<u8>)>;

    /// Sends `mine` to all ranks, and waits for the bytes of all ranks. Returns them in rank order. All ranks
    /// call this function equally often.
    fn gather_all(&self, mine: &[u8]) -> Vec<Vec<u8>>;

    /// Ends the processes of all ranks with this exit status.
    fn abort(&self, status: i32) -> !;
}
