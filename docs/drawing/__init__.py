"""The pictures of the manual that no report draws: ``make pictures`` puts them into docs/pictures.

They come from the product: from topologies and layouts, from the model, from what a command prints, from recorded
runs and executed notebooks, and from the tables of measured numbers in the pages themselves.
"""
