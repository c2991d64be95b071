"""Task-preserving transforms of a harness, one family each, in the order in which they are applied."""

from hat.augment.transforms.base import Draw, Transform
from hat.augment.transforms.hooks import K1
from hat.augment.transforms.prompt import P1, P3
from hat.augment.transforms.skills import S1, S3, S4
from hat.augment.transforms.tools import T1, T2, T4

TRANSFORMS: tuple[Transform, ...] = (S4, S3, T4, P1, P3, K1, S1, T1, T2)
"""Structure first and names last: a codec then covers every symbol that any transform added."""

__all__ = ["TRANSFORMS", "Draw", "Transform"]
