"""Many runs in one process: a vectorised environment of Gymnasium, whose agents share the load between two links.

Each environment is a stepped network with two routes from `a` to `b`. In each step of 10 ms, 200 kB come; the action is
the route that they take. The second route is slower, and fails and recovers at random. The observation is the
number of transfers on each route; the reward is the negative number of transfers that wait.

`python vector_env.py` steps 16 environments under random actions, and prints the steps a second.
"""

from __future__ import annotations

import time
from typing import Any

import gymnasium
import numpy as np
import parades as p
from gymnasium.vector.utils import batch_space

BYTES = 200_000


def network() -> p.Network:
    """Two routes, each over a node of its own."""
    net = p.Network("two routes", defaults=dict(delay="1ms")).nodes("fast-a", "fast-b", "slow-a", "slow-b")
    net.link("fast-a", "fast-b", name="fast", rate="160Mbps")
    return net.link("slow-a", "slow-b", name="slow", rate="80Mbps")


class Routes(gymnasium.vector.VectorEnv):
    """`number` environments, which are branches of one network."""

    metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.DISABLED}

    def __init__(self, number: int, steps: int = 200) -> None:
        self.num_envs, self.steps = number, steps
        self.single_observation_space = gymnasium.spaces.Box(0, np.inf, (2,), np.float32)
        self.single_action_space = gymnasium.spaces.Discrete(2)
        self.observation_space = batch_space(self.single_observation_space, number)
        self.action_space = batch_space(self.single_action_space, number)
        self.start = p.step(network(), by="flows")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.networks = [self.start.branch() for _ in range(self.num_envs)]
        self.open: list[dict[int, int]] = [{} for _ in self.networks]
        self.up = [True] * self.num_envs
        self.taken = 0
        return self._observation(), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        for number, (net, action) in enumerate(zip(self.networks, actions)):
            if self.np_random.random() < 0.02:
                self.up[number] = not self.up[number]
                net.set_link("slow", rate="80Mbps" if self.up[number] else "8Mbps")
            route = ("fast", "slow")[action]
            self.open[number][net.send(f"{route}-a", f"{route}-b", BYTES)] = int(action)
            net.advance("10ms")
            for end in net.completions():
                del self.open[number][end.transfer]
        self.taken += 1
        waiting = self._observation()
        over = np.full(self.num_envs, self.taken >= self.steps)
        return waiting, -waiting.sum(axis=1), np.zeros(self.num_envs, bool), over, {}

    def _observation(self) -> Any:
        routes = [list(transfers.values()) for transfers in self.open]
        return np.array([[route.count(0), route.count(1)] for route in routes], np.float32)


def main() -> None:
    envs = Routes(16)
    envs.reset(seed=1)
    begin, total, over = time.perf_counter(), 0.0, False
    while not over:
        _, rewards, _, truncated, _ = envs.step(envs.np_random.integers(0, 2, envs.num_envs))
        total += float(rewards.mean())
        over = bool(truncated.all())
    wall = time.perf_counter() - begin
    print(f"mean return {total:.1f}; {envs.num_envs * envs.steps / wall:.0f} steps a second")


if __name__ == "__main__":
    main()
