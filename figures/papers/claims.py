"""Every sentence in which one of the three papers reads something off a figure."""

from figures.papers import (
    claims_dachille2024,
    claims_han2024,
    claims_huang2023,
    claims_huang2023_supplement,
)

CLAIMS = (
    *claims_han2024.CLAIMS,
    *claims_huang2023.CLAIMS,
    *claims_huang2023_supplement.CLAIMS,
    *claims_dachille2024.CLAIMS,
)
