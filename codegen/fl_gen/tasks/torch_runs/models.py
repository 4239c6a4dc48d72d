"""Small models of the usual kinds, for benchmarks: a ResNet, an encoder like BERT's and a decoder like GPT's.

Sizes are small enough for a simulated device. Each entry gives the module, its inputs and a loss, with random weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812


class Block(nn.Module):
    """Two 3x3 convolutions with batch norm beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        hidden = F.relu(self.first_norm(self.first(images)))
        hidden = self.second_norm(self.second(hidden))
        return F.relu(hidden + self.shortcut(images))


class ResNet(nn.Module):
    """ResNet-18 for small images: four stages of two blocks, `width` channels in the first."""

    def __init__(self, width: int = 16, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        stages = []
        channels = width
        for stage in range(4):
            outputs = width << stage
            stages += [Block(channels, outputs, 1 if stage == 0 else 2), Block(outputs, outputs, 1)]
            channels = outputs
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(channels, classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        hidden = self.stages(F.relu(self.norm(self.stem(images))))
        result: torch.Tensor = self.head(hidden.mean(dim=(2, 3)))
        return result


class Attention(nn.Module):
    """Multi-head self-attention, causal or not."""

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        batch, length, width = hidden.shape
        parts = self.project(hidden).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=self.causal)
        result: torch.Tensor = self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return result


class Layer(nn.Module):
    """A transformer layer, normalised before each part."""

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        hidden = hidden + self.attention(self.attention_norm(hidden))
        result: torch.Tensor = hidden + self.mlp(self.mlp_norm(hidden))
        return result


class Transformer(nn.Module):
    """Token and position embeddings, `layers` layers, and a head over the vocabulary."""

    def __init__(self, causal: bool, vocabulary: int = 256, width: int = 64, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(128, width)
        self.layers = nn.Sequential(*(Layer(width, heads, causal) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        if causal:
            self.head.weight = self.tokens.weight  # as GPT-2 ties them

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        hidden = self.layers(self.tokens(tokens) + self.positions(places))
        result: torch.Tensor = self.head(self.norm(hidden))
        return result


@dataclass(frozen=True)
class Shipped:
    """A model to measure. `items` are what one step handles: images, or tokens."""

    build: Callable[[], nn.Module]
    inputs: Callable[[], tuple[torch.Tensor, torch.Tensor]]
    items: int
    unit: str


def loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The cross entropy of classes or of each token."""
    return F.cross_entropy(output.reshape(-1, output.shape[-1]), target.reshape(-1))


def _images() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))


def _tokens() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randint(0, 256, (4, 64)), torch.randint(0, 256, (4, 64))


MODELS: dict[str, Shipped] = {
    "resnet": Shipped(ResNet, _images, 8, "images"),
    "bert": Shipped(lambda: Transformer(causal=False), _tokens, 4 * 64, "tokens"),
    "gpt": Shipped(lambda: Transformer(causal=True), _tokens, 4 * 64, "tokens"),
}


def shipped(name: str) -> Shipped:
    """The model called `name`; KeyError for an unknown one."""
    return MODELS[name]
