// Rivals of the transport between processes of one machine, for the table `transport`.
//
// Build:  mpicc -O3 -DUSE_MPI transport.c -o transport -lpthread       (or: cc -O3 transport.c -o transport -lpthread)
// Run:    mpirun -n RANKS ./transport mpi|windows PATTERN BYTES MESSAGES
//         ./transport zeroshm|first-fit|locking PATTERN BYTES MESSAGES RANKS
//
// Sides:  mpi        MPI_Isend, MPI_Iprobe, MPI_Irecv: each message is copied, one message an event
//         windows    rings of slots in a shared window of MPI-3; messages are written and read in place
//         zeroshm    the algorithms 1 to 3 of the paper: two indices, a pair of mutexes for each segment
//         first-fit  the same segments and mutexes, but the sender takes the first free slot of the segment,
//                    and the receiver the first full one
//         locking    no messages: every rank locks and unlocks one mutex MESSAGES times, all at once
//
// PATTERN is `pair`, `ring` or `star`. In a pair and a ring, every rank sends MESSAGES to the next rank. In a
// star, rank 0 sends MESSAGES to the others in turn, and they send as many to rank 0, all together.
//
// The sender writes every word of a message, and the receiver reads every word and checks their sum. Rank 0
// prints the nanoseconds for each message that it received.

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef USE_MPI
#include <mpi.h>
#endif

enum { SLOTS = 256, OUTSTANDING = 64, IDLE_SPINS = 100, LINE = 64 };

typedef struct {
  const char *pattern;
  size_t bytes;
  long messages;
  int rank, ranks;
} Job;

static void fail(const char *why) {
  fprintf(stderr, "%s\n", why);
  exit(1);
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

// Waits a moment after an attempt without success. More ranks than cores must not keep each other waiting.
static void idle(int *spins) {
  if (++*spins > IDLE_SPINS) {
    sched_yield();
    *spins = 0;
  }
}

// ---- the work for a message ----

static void write_all(uint64_t *words, size_t bytes, uint64_t seed) {
  for (size_t i = 0; i < bytes / 8; i++) words[i] = seed + i;
}

static void read_all(const uint64_t *words, size_t bytes) {
  uint64_t sum = 0, n = bytes / 8;
  for (size_t i = 0; i < n; i++) sum += words[i];
  if (sum != n * words[0] + n * (n - 1) / 2) fail("a message arrived with wrong bytes");
}

// ---- who sends to whom ----

static bool is_star(const Job *job) { return strcmp(job->pattern, "star") == 0; }

static long to_send(const Job *job) {
  return is_star(job) && job->rank > 0 ? job->messages / (job->ranks - 1) : job->messages;
}

static long to_receive(const Job *job) { return to_send(job); }

static int receiver_of(const Job *job, long number) {
  if (!is_star(job)) return (job->rank + 1) % job->ranks;
  return job->rank > 0 ? 0 : 1 + (int)(number % (job->ranks - 1));
}

// Sends and receives everything. `send` returns false if there is no room; `receive` returns the number of
// messages that it read.
static double exchange_once(const Job *job, bool (*send)(const Job *, int, uint64_t), long (*receive)(const Job *),
                            bool (*is_sent)(void), void (*barrier)(void)) {
  long sent = 0, received = 0;
  int spins = 0;
  barrier();
  double begin = now_ns();
  while (sent < to_send(job) || received < to_receive(job) || !is_sent()) {
    bool has_sent = sent < to_send(job) && send(job, receiver_of(job, sent), (uint64_t)sent << 8 | job->rank);
    long arrived = receive(job);
    sent += has_sent;
    received += arrived;
    if (!has_sent && arrived == 0) idle(&spins);
  }
  barrier();
  return (now_ns() - begin) / to_receive(job);
}

// The first time finds the memory. The second time is measured.
static double exchange(const Job *job, bool (*send)(const Job *, int, uint64_t), long (*receive)(const Job *),
                       bool (*is_sent)(void), void (*barrier)(void)) {
  exchange_once(job, send, receive, is_sent, barrier);
  return exchange_once(job, send, receive, is_sent, barrier);
}

static bool always(void) { return true; }

static void report(const Job *job, double ns) {
  if (job->rank == 0) printf("{\"ns\": %.2f, \"messages\": %ld}\n", ns, to_receive(job));
}

// ---- copying through MPI ----

#ifdef USE_MPI
static MPI_Request requests[OUTSTANDING];
static uint64_t *outgoing[OUTSTANDING], *incoming;

static void mpi_barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

static bool mpi_send(const Job *job, int to, uint64_t seed) {
  static int next;
  int done;
  MPI_Test(&requests[next], &done, MPI_STATUS_IGNORE);
  if (!done) return false;
  write_all(outgoing[next], job->bytes, seed);
  MPI_Isend(outgoing[next], (int)job->bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[next]);
  next = (next + 1) % OUTSTANDING;
  return true;
}

static long mpi_receive(const Job *job) {
  int is_there;
  MPI_Status status;
  MPI_Request request;
  MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &is_there, &status);
  if (!is_there) return 0;
  MPI_Irecv(incoming, (int)job->bytes, MPI_BYTE, status.MPI_SOURCE, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  read_all(incoming, job->bytes);
  return 1;
}

static bool mpi_is_sent(void) {
  int done;
  MPI_Testall(OUTSTANDING, requests, &done, MPI_STATUSES_IGNORE);
  return done;
}

static double by_mpi(const Job *job) {
  for (int i = 0; i < OUTSTANDING; i++) {
    requests[i] = MPI_REQUEST_NULL;
    outgoing[i] = aligned_alloc(LINE, job->bytes);
  }
  incoming = aligned_alloc(LINE, job->bytes);
  return exchange(job, mpi_send, mpi_receive, mpi_is_sent, mpi_barrier);
}

// ---- a shared window of MPI-3 ----

// A ring of slots from one rank to another. Only the sender writes `end`, and only the receiver `begin`.
typedef struct {
  _Alignas(LINE) atomic_size_t end;
  _Alignas(LINE) atomic_size_t begin;
  _Alignas(LINE) unsigned char slots[];
} Ring;

static unsigned char *segments[64]; // By rank: its rings, one for each sender.

static Ring *ring(const Job *job, int to, int from) {
  return (Ring *)(segments[to] + from * (sizeof(Ring) + SLOTS * job->bytes));
}

static bool window_send(const Job *job, int to, uint64_t seed) {
  Ring *lane = ring(job, to, job->rank);
  size_t end = atomic_load_explicit(&lane->end, memory_order_relaxed);
  if (end - atomic_load_explicit(&lane->begin, memory_order_acquire) == SLOTS) return false;
  write_all((uint64_t *)(lane->slots + end % SLOTS * job->bytes), job->bytes, seed);
  atomic_store_explicit(&lane->end, end + 1, memory_order_release);
  return true;
}

static long window_receive(const Job *job) {
  long received = 0;
  for (int from = 0; from < job->ranks; from++) {
    Ring *lane = ring(job, job->rank, from);
    size_t begin = atomic_load_explicit(&lane->begin, memory_order_relaxed);
    if (atomic_load_explicit(&lane->end, memory_order_acquire) == begin) continue;
    read_all((uint64_t *)(lane->slots + begin % SLOTS * job->bytes), job->bytes);
    atomic_store_explicit(&lane->begin, begin + 1, memory_order_release);
    received++;
  }
  return received;
}

static double by_windows(const Job *job) {
  MPI_Aint bytes = job->ranks * (sizeof(Ring) + SLOTS * job->bytes);
  unsigned char *mine;
  MPI_Win window;
  MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window);
  memset(mine, 0, bytes);
  for (int rank = 0; rank < job->ranks; rank++) {
    MPI_Aint size;
    int unit;
    MPI_Win_shared_query(window, rank, &size, &unit, &segments[rank]);
  }
  MPI_Win_fence(0, window);
  double ns = exchange(job, window_send, window_receive, always, mpi_barrier);
  MPI_Win_free(&window);
  return ns;
}
#endif

// ---- the paper's segments, and First-Fit ----

// A segment: what one process receives. Names as in the paper's Fig. 3, without the prefixes.
typedef struct {
  _Alignas(LINE) pthread_mutex_t read_mutex;
  int pending_begin, pending_end, pending[SLOTS];
  _Alignas(LINE) pthread_mutex_t write_mutex;
  int free_begin, free_end, available[SLOTS];
  _Alignas(LINE) unsigned char state[SLOTS]; // First-Fit only: 0 free, 1 being written, 2 full, 3 being read.
  _Alignas(LINE) unsigned char messages[];
} Segment;

static unsigned char *block;
static pthread_barrier_t *all_ranks;

static void process_barrier(void) { pthread_barrier_wait(all_ranks); }

static size_t segment_bytes(size_t bytes) { return (sizeof(Segment) + SLOTS * bytes + LINE - 1) / LINE * LINE; }

static Segment *segment(const Job *job, int rank) { return (Segment *)(block + rank * segment_bytes(job->bytes)); }

static uint64_t *slot(const Job *job, Segment *of, int index) { return (uint64_t *)(of->messages + index * job->bytes); }

static bool zeroshm_send(const Job *job, int to, uint64_t seed) {
  Segment *of = segment(job, to);
  pthread_mutex_lock(&of->write_mutex);
  if (of->free_begin == of->free_end) {
    pthread_mutex_unlock(&of->write_mutex);
    return false;
  }
  int index = of->available[of->free_begin];
  of->free_begin = (of->free_begin + 1) % SLOTS;
  pthread_mutex_unlock(&of->write_mutex);
  write_all(slot(job, of, index), job->bytes, seed);
  pthread_mutex_lock(&of->read_mutex);
  of->pending[of->pending_end] = index;
  of->pending_end = (of->pending_end + 1) % SLOTS;
  pthread_mutex_unlock(&of->read_mutex);
  return true;
}

static long zeroshm_receive(const Job *job) {
  Segment *of = segment(job, job->rank);
  pthread_mutex_lock(&of->read_mutex);
  if (of->pending_begin == of->pending_end) {
    pthread_mutex_unlock(&of->read_mutex);
    return 0;
  }
  int index = of->pending[of->pending_begin];
  of->pending_begin = (of->pending_begin + 1) % SLOTS;
  pthread_mutex_unlock(&of->read_mutex);
  read_all(slot(job, of, index), job->bytes);
  pthread_mutex_lock(&of->write_mutex);
  of->available[of->free_end] = index;
  of->free_end = (of->free_end + 1) % SLOTS;
  pthread_mutex_unlock(&of->write_mutex);
  return 1;
}

// Moves the first slot in the state `from` to the state `to`. Returns -1 if there is none.
static int first(Segment *of, pthread_mutex_t *mutex, unsigned char from, unsigned char to) {
  pthread_mutex_lock(mutex);
  unsigned char *found = memchr(of->state, from, SLOTS);
  if (found) __atomic_store_n(found, to, __ATOMIC_RELAXED);
  pthread_mutex_unlock(mutex);
  return found ? (int)(found - of->state) : -1;
}

static bool first_fit_send(const Job *job, int to, uint64_t seed) {
  Segment *of = segment(job, to);
  int index = first(of, &of->write_mutex, 0, 1);
  if (index < 0) return false;
  write_all(slot(job, of, index), job->bytes, seed);
  pthread_mutex_lock(&of->read_mutex);
  __atomic_store_n(&of->state[index], 2, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&of->read_mutex);
  return true;
}

static long first_fit_receive(const Job *job) {
  Segment *of = segment(job, job->rank);
  int index = first(of, &of->read_mutex, 2, 3);
  if (index < 0) return 0;
  read_all(slot(job, of, index), job->bytes);
  pthread_mutex_lock(&of->write_mutex);
  __atomic_store_n(&of->state[index], 0, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&of->write_mutex);
  return 1;
}

static void *shared(size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) fail("there is no shared memory");
  return memory;
}

// Locks and unlocks the mutex of the first segment. Returns the nanoseconds that a rank takes for it.
static double lock_in_turn(const Job *job) {
  pthread_mutex_t *mutex = &segment(job, 0)->write_mutex;
  process_barrier();
  double begin = now_ns();
  for (long i = 0; i < job->messages; i++) {
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
  }
  process_barrier();
  return (now_ns() - begin) / job->messages;
}

static double by_segments(Job *job, const char *side) {
  bool locks = strcmp(side, "locking") == 0, is_first_fit = strcmp(side, "first-fit") == 0;
  if (!locks && !is_first_fit && strcmp(side, "zeroshm") != 0) fail("there is no such side");
  block = shared(job->ranks * segment_bytes(job->bytes));
  all_ranks = shared(sizeof *all_ranks);
  pthread_mutexattr_t of_mutex;
  pthread_mutexattr_init(&of_mutex);
  pthread_mutexattr_setpshared(&of_mutex, PTHREAD_PROCESS_SHARED);
  pthread_barrierattr_t of_barrier;
  pthread_barrierattr_init(&of_barrier);
  pthread_barrierattr_setpshared(&of_barrier, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(all_ranks, &of_barrier, job->ranks);
  for (int rank = 0; rank < job->ranks; rank++) {
    Segment *of = segment(job, rank);
    pthread_mutex_init(&of->read_mutex, &of_mutex);
    pthread_mutex_init(&of->write_mutex, &of_mutex);
    of->free_end = SLOTS - 1;
    for (int i = 0; i < SLOTS; i++) of->available[i] = i;
  }
  for (int rank = 1; rank < job->ranks && job->rank == 0; rank++)
    if (fork() == 0) job->rank = rank;
  double ns = locks          ? lock_in_turn(job)
              : is_first_fit ? exchange(job, first_fit_send, first_fit_receive, always, process_barrier)
                             : exchange(job, zeroshm_send, zeroshm_receive, always, process_barrier);
  if (job->rank > 0) _exit(0);
  for (int status, rank = 1; rank < job->ranks; rank++)
    if (wait(&status) < 0 || status != 0) fail("a rank failed");
  return ns;
}

int main(int argc, char **argv) {
  if (argc < 5) fail("usage: transport SIDE PATTERN BYTES MESSAGES [RANKS]");
  const char *side = argv[1];
  Job job = {argv[2], strtoul(argv[3], NULL, 10), atol(argv[4]), 0, argc > 5 ? atoi(argv[5]) : 0};
  if (job.bytes < 8 || job.bytes % LINE != 0 || job.messages < 1 || job.ranks > 64) fail("sizes are multiples of 64 bytes");
  bool is_mpi = strcmp(side, "mpi") == 0 || strcmp(side, "windows") == 0;
  if (!is_mpi) {
    report(&job, by_segments(&job, side));
    return 0;
  }
#ifdef USE_MPI
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  report(&job, strcmp(side, "windows") == 0 ? by_windows(&job) : by_mpi(&job));
  MPI_Finalize();
  return 0;
#else
  fail("built without MPI");
#endif
}
