"""Encodes texts by Hugging Face's tokenizers, by the threads of its pool."""
from steady import Steady
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

texts = [" ".join(f"word{(number * item) % 997}" for item in range(60)) for number in range(2000)]
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=400, show_progress=False))


def encode():
    return tokenizer.encode_batch(texts)


run = Steady()
encode()
run.ready()
while run.goes_on():
    encode()
