"""Task-preserving transforms of a harness, one family each, in the order in which they are applied."""

from hat.augment.transforms.base import Draw, Skip, Transform
from hat.augment.transforms.hooks import DeferCheck, ReorderHooks, RewordMessages
from hat.augment.transforms.limits import PerturbLimits, PerturbRetries
from hat.augment.transforms.prompt import ChangeLayout, MoveContext, ReorderPrompt
from hat.augment.transforms.rule_places import MaskRules, MoveRules
from hat.augment.transforms.rules import ReorderRules, RewordRules
from hat.augment.transforms.skills import AddDistractorSkills, RedescribeSkills, RenameSkills, ShuffleSkills
from hat.augment.transforms.tool_layouts import AddOptions, LayOutArguments, WrapResults
from hat.augment.transforms.tool_set import ChangeToolSet
from hat.augment.transforms.tools import RedescribeTools, RenameArguments, RenameTools, ShuffleTools

TRANSFORMS: tuple[Transform, ...] = (
    *(ShuffleSkills(), AddDistractorSkills(), RedescribeSkills()),
    *(MaskRules(), MoveRules(), ReorderRules(), RewordRules()),
    *(RedescribeTools(), ChangeToolSet(), ShuffleTools()),
    *(ReorderPrompt(), MoveContext(), PerturbLimits(), ChangeLayout()),
    *(RewordMessages(), PerturbRetries(), ReorderHooks(), DeferCheck()),
    *(LayOutArguments(), AddOptions(), WrapResults()),
    *(RenameSkills(), RenameTools(), RenameArguments()),
)
"""Structure first and names last: a codec then covers every symbol that any transform added."""

__all__ = ["TRANSFORMS", "Draw", "Skip", "Transform"]
