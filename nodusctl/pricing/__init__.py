"""What capacity costs: the price book, which price holds, charge(), bands, and the estimate printed before anything is made. No I/O."""
