from tests.small_blocks import in_blocks_of

small_blocks = in_blocks_of(10_000)
