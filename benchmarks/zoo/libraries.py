"""Models of torchvision and timm, small ones on small images, and what lets both be imported beside any torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

TORCHVISION = (
    "alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet inception_v3 mnasnet0_5 "
    "mobilenet_v2 mobilenet_v3_small regnet_x_400mf regnet_y_400mf resnet18 resnet50 resnext50_32x4d "
    "wide_resnet50_2 shufflenet_v2_x0_5 squeezenet1_0 swin_t swin_v2_t vgg11 vgg11_bn vit_b_32 maxvit_t "
    "deeplabv3_mobilenet_v3_large fcn_resnet50 lraspp_mobilenet_v3_large r3d_18 mc3_18 r2plus1d_18").split()
_SEGMENTS = ("deeplabv3", "fcn", "lraspp")
_VIDEOS = ("r3d_18", "mc3_18", "r2plus1d_18")
_SIDES = {"inception_v3": 96, "maxvit_t": 224, "convnext_tiny": 64, "vit_b_32": 64}

TIMM = (
    "beit_base_patch16_224:img botnet26t_256:256 bat_resnext26ts gcresnext26ts gernet_s mobileone_s0 "
    "cait_xxs24_224:img coat_lite_tiny:img convit_tiny:img convmixer_768_32 convnext_atto convnextv2_atto "
    "crossvit_9_240:240 cs3darknet_s davit_tiny deit_tiny_patch16_224:img deit_tiny_distilled_patch16_224:img "
    "densenetblur121d dla34 dpn48b edgenext_xx_small efficientformer_l1:224 efficientformerv2_s0:224 "
    "tf_efficientnet_lite0 mixnet_s fbnetc_100 tinynet_e efficientvit_b0 efficientvit_m0:224 "
    "eva02_tiny_patch14_224:img14 fasternet_t0 fastvit_t8 focalnet_tiny_srf gcvit_xxtiny:224 ghostnet_050 "
    "hardcorenas_a hgnetv2_b0 hiera_tiny_224:224 hrnet_w18_small inception_next_atto inception_v4:96 lcnet_050 "
    "levit_128s:224 mambaout_femto coatnet_nano_rw_224:224 maxvit_rmlp_pico_rw_256:256 poolformer_s12 "
    "caformer_s18 mixer_s32_224:img resmlp_12_224:img gmlp_ti16_224:img mobilenetv3_small_050 "
    "mobilenetv4_conv_small mobilevit_xxs mobilevitv2_050 mvitv2_tiny:224 nest_tiny:224 nf_resnet26 nfnet_f0 "
    "pit_ti_224:224 pvt_v2_b0 regnetx_002 regnety_002 repghostnet_050 repvit_m1 res2net50_14w_8s resnest14d "
    "resnet10t ecaresnet26t seresnext26t_32x4d skresnet18 resnetv2_50 resnetv2_50x1_bit rexnet_100 rexnetr_100 "
    "selecsls42 legacy_seresnet18 sequencer2d_s:224 shvit_s1 starnet_s1 swiftformer_xs "
    "swin_tiny_patch4_window7_224:224 swinv2_tiny_window8_256:256 tiny_vit_5m_224:224 tnt_s_patch16_224:224 "
    "tresnet_m twins_svt_small:224 ese_vovnet19b_dw visformer_tiny:224 vit_tiny_patch16_224:img "
    "vit_relpos_small_patch16_224:224 samvit_base_patch16:img volo_d1_224:224 xception41 "
    "xcit_nano_12_p16_224:img").split()
"""name, or name:side of the image; name:img for models that take img_size=, which is 64 (img14: 56) then."""

TRAINED = ("tv:resnet18 tv:mobilenet_v2 tv:efficientnet_b0 tv:densenet121 tv:convnext_tiny tv:swin_t tv:vgg11_bn "
           "tv:googlenet tv:shufflenet_v2_x0_5 timm:vit_tiny_patch16_224 timm:mixer_s32_224 timm:regnety_002 "
           "timm:ghostnet_050 timm:resnest14d timm:nf_resnet26 timm:levit_128s timm:repvit_m1 timm:pvt_v2_b0").split()

_OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "int sampling_ratio, bool aligned) -> Tensor",
    "_roi_align_backward(Tensor grad, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "SymInt batch_size, SymInt channels, SymInt height, SymInt width, int sampling_ratio, bool aligned) -> Tensor",
    "roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> "
    "(Tensor, Tensor)",
    "_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width) -> Tensor",
    "ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "int sampling_ratio) -> (Tensor, Tensor)",
    "_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor mapping, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width, int sampling_ratio, SymInt batch_size, SymInt channels, SymInt height, SymInt width) "
    "-> Tensor",
    "ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> "
    "(Tensor, Tensor)",
    "_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor mapping, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width) -> Tensor",
    "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, "
    "SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, "
    "SymInt offset_groups, bool use_mask) -> Tensor",
    "_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, "
    "SymInt groups, SymInt offset_groups, bool use_mask) -> (Tensor, Tensor, Tensor, Tensor, Tensor)")
_library: list[torch.library.Library] = []


def load() -> None:
    """Import torchvision and timm. Where torchvision was built for another torch its own operators are missing: they
    are declared then, which its import needs and no model here calls."""
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        import sys

        for name in [n for n in sys.modules if n.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        _library.append(torch.library.Library("torchvision", "FRAGMENT"))
        for schema in _OPERATORS:
            try:
                _library[0].define(schema)
            except RuntimeError:
                continue            # declared before the import failed
        import torchvision  # noqa: F401
    import timm  # noqa: F401


def names() -> list[str]:
    """All rows: library:model, and the same with +train."""
    found = [f"tv:{n}" for n in TORCHVISION] + [f"timm:{n.partition(':')[0]}" for n in TIMM]
    return found + [f"{n}+train" for n in TRAINED]


def make(name: str) -> tuple[nn.Module, torch.Tensor]:
    """The model of a row, float32 with random weights after torch.manual_seed(0), and its input. Nothing in it draws
    random numbers: dropout and stochastic depth have probability 0."""
    library, _, model = name.removesuffix("+train").partition(":")
    torch.manual_seed(0)
    made, shape = (_torchvision if library == "tv" else _timm)(model)
    for m in made.modules():
        for key in ("p", "drop_prob"):
            if type(getattr(m, key, None)) is float:
                setattr(m, key, 0.0)
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(1))
    return made.train(name.endswith("+train")), x


def _torchvision(name: str) -> tuple[nn.Module, tuple[int, ...]]:
    import torchvision.models

    more: Mapping[str, Any] = {"num_classes": 10}
    if name.startswith(_SEGMENTS):
        more = {"num_classes": 4, "weights_backbone": None}
    if name in ("googlenet", "inception_v3"):
        more = {**more, "init_weights": False}
    side = _SIDES.get(name, 64)
    if name.startswith("vit"):
        more = {**more, "image_size": side}
    if name in _VIDEOS:
        return torchvision.models.get_model(name, weights=None, **more), (2, 3, 4, 32, 32)
    return torchvision.models.get_model(name, weights=None, **more), (2, 3, side, side)


def _timm(name: str) -> tuple[nn.Module, tuple[int, ...]]:
    import timm

    how = next(n.partition(":")[2] for n in TIMM if n.partition(":")[0] == name)
    side = 56 if how == "img14" else int(how) if how.isdigit() else 64
    more = {"img_size": side} if how.startswith("img") else {}
    return timm.create_model(name, num_classes=10, **more), (2, 3, side, side)
