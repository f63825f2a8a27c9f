"""What one call costs the client, by way of making it: where the summarizer's CPU time goes.

    python -m benchmarks.llm_clients [--requests 1000] [--latency-ms 500] [--concurrency 64]

All ways ask the same server in another process for the same prompts, without retries or validation, except
for the summarizer itself.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2
import openai

from benchmarks.llm_throughput import cpu_seconds, requests, server
from overstory.adapters.openai_client import OpenAISummarizer
from overstory.adapters.tokenizers import OpenAITokenizer
from overstory.prompts import PromptTemplate

Way = Callable[[str, list[str], int], None]


def asyncio_openai(url: str, prompts: list[str], concurrency: int) -> None:
    async def run() -> None:
        slots = asyncio.Semaphore(concurrency)
        async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

            async def ask(prompt: str) -> None:
                async with slots:
                    await client.chat.completions.create(
                        model="stub", messages=[{"role": "user", "content": prompt}], max_tokens=440
                    )

            await asyncio.gather(*(ask(prompt) for prompt in prompts))

    asyncio.run(run())


def asyncio_httpx2(url: str, prompts: list[str], concurrency: int) -> None:
    async def run() -> None:
        slots = asyncio.Semaphore(concurrency)
        async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=concurrency), timeout=60) as client:

            async def ask(prompt: str) -> None:
                body = {"model": "stub", "messages": [{"role": "user", "content": prompt}], "max_tokens": 440}
                async with slots:
                    (await client.post(f"{url}/chat/completions", json=body)).json()

            await asyncio.gather(*(ask(prompt) for prompt in prompts))

    asyncio.run(run())


def threads_openai(url: str, prompts: list[str], concurrency: int) -> None:
    with (
        openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client,
        ThreadPoolExecutor(concurrency) as pool,
    ):

        def ask(prompt: str) -> None:
            client.chat.completions.create(model="stub", messages=[{"role": "user", "content": prompt}], max_tokens=440)

        list(pool.map(ask, prompts))


def summarizer(url: str, prompts: list[str], concurrency: int) -> None:
    model = OpenAISummarizer(base_url=url, model="stub", tokenizer=OpenAITokenizer(), concurrency=concurrency)
    model.summarize_many(requests(len(prompts)), list[object]().extend)


WAYS: dict[str, Way] = {
    "OpenAISummarizer": summarizer,
    "asyncio + openai": asyncio_openai,
    "64 threads + openai": threads_openai,
    "asyncio + httpx2": asyncio_httpx2,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--latency-ms", type=float, default=500)
    parser.add_argument("--concurrency", type=int, default=64)
    arguments = parser.parse_args()
    template = PromptTemplate()
    prompts = [template.render(r.kind, r.parts, r.target_tokens) for r in requests(arguments.requests)]
    bound = arguments.requests * arguments.latency_ms / 1000 / arguments.concurrency
    print(f"{'way':<22}{'wall s':>8}{'/ bound':>9}{'CPU ms/call':>13}")
    for name, way in WAYS.items():
        with server(arguments.latency_ms) as url:
            way(url, prompts[:1], 1)
            used, started = cpu_seconds(), time.perf_counter()
            way(url, prompts, arguments.concurrency)
            wall, used = time.perf_counter() - started, cpu_seconds() - used
        ratio = wall / bound if bound else float("nan")
        print(f"{name:<22}{wall:>8.1f}{ratio:>9.2f}{1000 * used / arguments.requests:>13.2f}", flush=True)


if __name__ == "__main__":
    main()
