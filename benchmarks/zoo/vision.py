"""Models over images and video."""

from __future__ import annotations

from .row import Row, floats, ids, pixels

VIT = dict(
    hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, image_size=32, patch_size=8
)


def _backbone(**more: object) -> object:
    from transformers import ResNetConfig

    return ResNetConfig(
        embedding_size=16,
        hidden_sizes=[16, 24, 32, 48],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=["stage1", "stage2", "stage3", "stage4"],
        **more,
    )


VISION: dict[str, Row] = {
    "vit": Row("vision", "ViTForImageClassification", dict(VIT, num_labels=10), pixels()),
    "deit": Row("vision", "DeiTForImageClassification", VIT, pixels()),
    "beit": Row(
        "vision",
        "BeitForImageClassification",
        dict(VIT, use_relative_position_bias=True, layer_scale_init_value=0.1),
        pixels(),
    ),
    "dinov2": Row("vision", "Dinov2Model", VIT, pixels()),
    "dinov2_other_size": Row("vision", "Dinov2Model", VIT, pixels(48)),
    "vit_mae": Row("vision", "ViTMAEModel", dict(VIT, mask_ratio=0.5), pixels(noise=lambda: floats(2, 16))),
    "vit_msn": Row("vision", "ViTMSNModel", VIT, pixels()),
    "swin": Row(
        "vision",
        "SwinForImageClassification",
        dict(image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4),
        pixels(),
    ),
    "swinv2": Row(
        "vision",
        "Swinv2ForImageClassification",
        dict(image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4),
        pixels(),
    ),
    "convnext": Row(
        "vision", "ConvNextForImageClassification", dict(hidden_sizes=[16, 24, 32, 48], depths=[1, 1, 1, 1]), pixels(64)
    ),
    "convnextv2": Row(
        "vision",
        "ConvNextV2ForImageClassification",
        dict(hidden_sizes=[16, 24, 32, 48], depths=[1, 1, 1, 1]),
        pixels(64),
    ),
    "resnet": Row(
        "vision",
        "ResNetForImageClassification",
        dict(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], layer_type="bottleneck"),
        pixels(64),
    ),
    "regnet": Row(
        "vision",
        "RegNetForImageClassification",
        dict(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], groups_width=8),
        pixels(64),
    ),
    "bit": Row(
        "vision",
        "BitForImageClassification",
        dict(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], num_groups=4),
        pixels(64),
    ),
    "segformer": Row(
        "vision",
        "SegformerForSemanticSegmentation",
        dict(
            hidden_sizes=[16, 32, 32, 64], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=32
        ),
        pixels(64),
    ),
    "mobilenet_v1": Row(
        "vision", "MobileNetV1ForImageClassification", dict(image_size=32, depth_multiplier=0.25), pixels()
    ),
    "mobilenet_v2": Row(
        "vision", "MobileNetV2ForImageClassification", dict(image_size=32, depth_multiplier=0.25), pixels()
    ),
    "mobilevit": Row(
        "vision",
        "MobileViTForImageClassification",
        dict(
            hidden_sizes=[24, 32, 40],
            neck_hidden_sizes=[8, 8, 16, 24, 32, 40, 64],
            image_size=64,
            intermediate_size=64,
            num_attention_heads=4,
        ),
        pixels(64),
    ),
    "mobilevitv2": Row(
        "vision", "MobileViTV2ForImageClassification", dict(image_size=64, width_multiplier=0.25), pixels(64)
    ),
    "poolformer": Row(
        "vision",
        "PoolFormerForImageClassification",
        dict(depths=[1, 1, 1, 1], hidden_sizes=[16, 24, 32, 48]),
        pixels(64),
    ),
    "pvt": Row(
        "vision",
        "PvtForImageClassification",
        dict(image_size=64, hidden_sizes=[16, 24, 32, 48], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4]),
        pixels(64),
    ),
    "pvt_v2": Row(
        "vision",
        "PvtV2ForImageClassification",
        dict(image_size=64, hidden_sizes=[16, 24, 32, 48], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4]),
        pixels(64),
    ),
    "levit": Row(
        "vision",
        "LevitForImageClassification",
        dict(
            image_size=64, hidden_sizes=[32, 48, 64], num_attention_heads=[2, 3, 4], depths=[1, 1, 1], key_dim=[8, 8, 8]
        ),
        pixels(64),
    ),
    "focalnet": Row(
        "vision",
        "FocalNetForImageClassification",
        dict(image_size=32, embed_dim=16, depths=[1, 1, 1, 1], hidden_sizes=[16, 32, 64, 128]),
        pixels(32),
    ),
    "efficientnet": Row(
        "vision",
        "EfficientNetForImageClassification",
        dict(image_size=32, width_coefficient=0.25, depth_coefficient=0.25, hidden_dim=320),
        pixels(),
    ),
    "swiftformer": Row(
        "vision",
        "SwiftFormerForImageClassification",
        dict(depths=[1, 1, 1, 1], embed_dims=[16, 24, 32, 48]),
        pixels(64),
    ),
    "hiera": Row(
        "vision",
        "HieraForImageClassification",
        dict(image_size=[64, 64], embed_dim=16, num_heads=[1, 2, 4, 8], depths=[1, 1, 1, 1], masked_unit_size=[8, 8]),
        pixels(64),
    ),
    "dpt": Row(
        "vision",
        "DPTForSemanticSegmentation",
        dict(
            VIT,
            num_hidden_layers=4,
            backbone_out_indices=[0, 1, 2, 3],
            neck_hidden_sizes=[16, 24, 32, 48],
            fusion_hidden_size=16,
            is_hybrid=False,
        ),
        pixels(),
    ),
    "glpn": Row(
        "vision",
        "GLPNForDepthEstimation",
        dict(
            hidden_sizes=[16, 32, 32, 64], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=32
        ),
        pixels(64),
    ),
    "yolos": Row("vision", "YolosForObjectDetection", dict(VIT, image_size=[32, 32], num_detection_tokens=5), pixels()),
    "detr": Row(
        "vision",
        "DetrForObjectDetection",
        dict(
            use_timm_backbone=False,
            use_pretrained_backbone=False,
            backbone=None,
            backbone_config=_backbone,
            d_model=32,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=64,
            decoder_ffn_dim=64,
            num_queries=5,
        ),
        pixels(64),
    ),
    "upernet": Row(
        "vision",
        "UperNetForSemanticSegmentation",
        dict(
            backbone_config=_backbone,
            hidden_size=16,
            auxiliary_in_channels=32,
            auxiliary_channels=16,
            pool_scales=[1, 2],
        ),
        pixels(64),
    ),
    "vitpose": Row(
        "vision", "VitPoseForPoseEstimation", dict(backbone_config=lambda: _vitpose(), num_labels=5), pixels(32)
    ),
    "textnet": Row(
        "vision",
        "TextNetForImageClassification",
        dict(
            stem_out_channels=16,
            hidden_sizes=[16, 16, 24, 32, 48],
            conv_layer_kernel_sizes=[[[3, 3]], [[3, 3]], [[3, 1]], [[1, 3]]],
            conv_layer_strides=[[1], [2], [2], [2]],
        ),
        pixels(64),
    ),
    "timesformer": Row(
        "vision", "TimesformerModel", dict(VIT, num_frames=2), lambda: {"pixel_values": floats(2, 2, 3, 32, 32)}
    ),
    "videomae": Row(
        "vision",
        "VideoMAEModel",
        dict(VIT, num_frames=2, tubelet_size=2),
        lambda: {"pixel_values": floats(2, 2, 3, 32, 32)},
    ),
    "vivit": Row(
        "vision",
        "VivitModel",
        dict(VIT, num_frames=2, tubelet_size=[2, 8, 8]),
        lambda: {"pixel_values": floats(2, 2, 3, 32, 32)},
    ),
    "imagegpt": Row(
        "vision", "ImageGPTModel", dict(n_embd=64, n_layer=2, n_head=4, vocab_size=512, n_positions=64), ids()
    ),
    "swin2sr": Row(
        "vision",
        "Swin2SRForImageSuperResolution",
        dict(image_size=16, embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4, upscale=2),
        pixels(16),
    ),
}


def _vitpose() -> object:
    from transformers import VitPoseBackboneConfig

    return VitPoseBackboneConfig(**dict(VIT, image_size=[32, 32], patch_size=[8, 8]), out_indices=[2])
